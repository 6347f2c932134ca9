#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_types.hpp"

namespace jobs {

/// A setting as it is kept that may be 0, too: -1 if it is not said.
template <class Number>
[[nodiscard]] std::int64_t kept(const std::optional<Number>& setting) noexcept {
    return setting ? static_cast<std::int64_t>(*setting) : -1;
}
template <class Number>
void read_kept(std::int64_t kept, std::optional<Number>& into) noexcept {
    into.reset();
    if (kept >= 0)
        into = static_cast<Number>(kept);
}

/// A queue as it is kept.
struct queue_row {
    std::uint64_t number = 0; ///< from 1 to table::queue_number_max
    std::shared_ptr<const std::string> name;
    std::uint64_t next_id = 1;
    queue_settings settings;
    queue_counts counts;
    bool dirty = false; ///< differs from what is kept
    // What the ledger has found out: when the oldest of the queued was added.
    bool oldest_known = false;
    std::optional<time_ms> oldest;
};

/// A job as it is kept, without its texts.
struct job_row {
    std::uint64_t queue = 0;
    std::uint64_t id = 0;
    job_state state = job_state::queued;
    std::uint8_t rank = 9;
    std::uint32_t attempts = 0; ///< the last ones in a row; all but one in progress have failed
    std::uint32_t duplicates = 0;
    time_ms added_at = 0;
    time_ms since = 0; ///< in this state
    time_ms due = 0;   ///< of a delayed one, or one in progress; 0 of others
    std::int64_t queued_ms = 0;
    std::int64_t in_progress_ms = 0;
    job_cause cause = job_cause::none;
};
struct job_texts {
    std::string key;
    std::string payload;
    std::string error;
};

/// The rows behind a ledger, and how they are found: no rules here. One thread at a time. Throws
/// store_error; the owner then rolls back and calls ledger::reload().
class table {
public:
    static constexpr std::uint64_t queue_number_max = (std::uint64_t{1} << 23) - 1;
    static constexpr std::uint64_t id_max = (std::uint64_t{1} << 40) - 1; // of what next_id counts

    table() = default;
    table(const table&) = delete;
    table& operator=(const table&) = delete;
    virtual ~table() = default;

    virtual std::vector<queue_row> queues() = 0;
    virtual void save(const queue_row& queue) = 0;
    /// With its tokens; it has no jobs.
    virtual void erase_queue(std::uint64_t number) = 0;
    /// False: there may be jobs that are not in hand.
    virtual bool may_erase_queue() { return true; }

    virtual std::optional<job_row> find(std::uint64_t queue, std::uint64_t id) = 0;
    /// Of those that are not dead.
    virtual std::optional<job_row> find_key(std::uint64_t queue, std::string_view key) = 0;
    /// Of the dead, the latest first.
    virtual std::vector<job_row> find_dead(std::uint64_t queue, std::string_view key,
                                           std::size_t limit) = 0;
    virtual std::optional<job_row> find_lease(std::string_view lease) = 0;
    virtual job_texts texts(const job_row& job) = 0;
    /// As texts(), without what may be large.
    virtual std::string key(const job_row& job) = 0;
    /// Of one state, behind `after`, in the order of taking.
    virtual std::vector<job_row> list(std::uint64_t queue, job_state state, position after,
                                      std::size_t limit) = 0;
    /// What is due by `now`, the earliest first.
    virtual std::vector<job_row> due(time_ms now, std::size_t limit) = 0;
    /// The earliest time at which something is due, or never.
    virtual time_ms next_due() = 0;

    /// What the jobs take up in memory, about; 0 where they are kept elsewhere.
    [[nodiscard]] virtual std::uint64_t memory_bytes() const { return 0; }
    /// Of the next job of a queue; greater than those before it.
    virtual std::uint64_t new_id(queue_row& queue) { return queue.next_id++; }
    /// Greater than the ids of the jobs that the queue has had so far.
    virtual std::uint64_t id_to_come(const queue_row& queue) { return queue.next_id; }
    virtual void insert(const job_row& job, std::string key, std::string payload) = 0;
    /// Changes the row of that queue and id, and its lease unless that is left out.
    virtual void update(const job_row& job, std::optional<std::string_view> lease) = 0;
    /// One more of that queue and id, which may be changed by another at the same time.
    virtual void count_duplicate(const job_row& job) {
        job_row counted = job;
        ++counted.duplicates;
        update(counted, std::nullopt);
    }
    virtual void set_error(const job_row& job, std::string_view error) = 0;
    virtual void erase(const job_row& job) = 0;

    /// Whether the counts of its jobs are those of what is stored; true where that is dear to find
    /// out. For checks.
    virtual bool agrees_with(const queue_row& queue) {
        (void)queue;
        return true;
    }

    struct token_row {
        std::uint64_t fingerprint = 0;
        std::uint64_t id = 0;
        time_ms expires_at = 0;
    };
    virtual std::optional<token_row> find_token(std::uint64_t queue, std::string_view token) = 0;
    virtual void insert_token(std::uint64_t queue, std::string_view token, token_row row) = 0;
    /// Those that end by `now`, and the oldest beyond `kept_max`.
    virtual void drop_tokens(time_ms now, std::size_t kept_max) = 0;
};

} // namespace jobs
