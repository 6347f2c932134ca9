#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobs/job_types.hpp"
#include "random_id.hpp"
#include "table.hpp"

namespace jobs {

/// How far a purge has come: a step of it takes the jobs behind `after`, of that state and those
/// that follow it.
struct purge_progress {
    job_state state = job_state::queued;
    position after{};
    std::uint64_t queue = 0;  ///< of its number only; 0: to be found out by the first step
    std::uint64_t before = 0; ///< jobs with smaller ids only; 0: the same
    std::uint64_t purged = 0; ///< so far
    bool done = false;
};
/// How many jobs a step of a purge removes.
inline constexpr std::size_t purged_at_once = 1'000;

/// The rules of the queues, over rows in a table: what the calls of `store` do, without waiting.
/// One thread at a time. Throws what the table throws; the owner then rolls back what was done
/// so far, and calls reload().
class ledger {
public:
    /// `rows` outlives it.
    ledger(table& rows, store_limits limits, id_source lease_ids = random_id);

    std::vector<add_result> add(const std::string& queue, std::vector<new_job> jobs,
                                const std::optional<idempotency>& token, time_ms now);
    std::vector<std::vector<taken_job>> take(const std::string& queue,
                                             const std::vector<take_request>& wanted, time_ms now);
    settle_result settle(const std::string& queue, std::vector<std::string> acks,
                         std::vector<retry> retries, time_ms now);
    extend_result extend(const std::string& queue, std::vector<std::string> leases,
                         std::int64_t lease_ms, time_ms now);
    void put_back(const std::string& queue, const std::vector<std::string>& leases, bool sent,
                  time_ms now);
    time_ms pass_time(time_ms now);
    std::optional<queue_info> describe(const std::string& queue, time_ms now);
    queue_list queues(const queues_request& what, time_ms now);
    job_list list(const std::string& queue, const list_request& what, time_ms now);
    std::optional<job_info> find(const std::string& queue, std::uint64_t id, time_ms now);
    job_list find_key(const std::string& queue, const std::string& key, std::size_t limit,
                      time_ms now);
    bool remove(const std::string& queue, std::uint64_t id, time_ms now);
    std::optional<queue_info> configure(const std::string& queue, const queue_settings& to,
                                        time_ms now);
    std::optional<queue_info> pause(const std::string& queue, bool paused, time_ms now);
    /// One step: to be called until it is done.
    purge_progress purge(const std::string& queue, purge_progress so_far, time_ms now);
    revive_result retry_dead(const std::string& queue, std::uint64_t id, time_ms now);
    /// `number`: what the slice before has told, or 0 for the first.
    removed_queue remove_queue(const std::string& queue, std::uint64_t number, bool forced,
                               time_ms now);
    dead_result settle_dead(const std::string& queue, const dead_request& what, time_ms now);

    /// Has no more jobs than that in hand at once where their number is not the caller's, and gives
    /// out no more than `given`. What more has ended has not yet for the calls that follow.
    void do_at_most(std::size_t jobs, std::size_t given) noexcept {
        done_max_ = jobs;
        given_max_ = given;
    }
    /// Writes the rows of queues that have changed: at the end of a step, or of several.
    void flush();
    /// Forgets what it knows, and reads the queues anew.
    void reload();
    /// What has happened since the last call.
    [[nodiscard]] std::vector<change> take_changes() { return std::exchange(changes_, {}); }

private:
    [[nodiscard]] queue_row* find_queue(const std::string& name);
    struct found_job {
        queue_row* queue;
        job_row job;
    };
    [[nodiscard]] std::optional<found_job> find_now(const std::string& queue, std::uint64_t id,
                                                    time_ms now);
    [[nodiscard]] queue_row* open_queue(const std::string& name);
    bool forget_unused_queue();
    void forget(std::uint64_t number);
    void mark(queue_row& queue);
    void note(change_kind kind, queue_row& queue, const job_row* job, time_ms now,
              std::int64_t spent_ms = -1);
    std::uint64_t& count(queue_row& queue, job_state state);
    void uncount(queue_row& queue, const job_row& job);
    std::int64_t move(queue_row& queue, job_row& job, job_state to, time_ms now);
    add_result add_one(queue_row& queue, new_job job, time_ms now);
    std::optional<add_result> known_try(const queue_row& queue, const idempotency& token,
                                        std::int64_t delay_ms, time_ms now);
    std::vector<taken_job> take_up_to(queue_row& queue, const take_request& wanted, time_ms now);
    [[nodiscard]] std::optional<job_row> leased(const queue_row* queue, const std::string& lease);
    void give_back(queue_row& queue, job_row job, change_kind why,
                   std::optional<std::int64_t> delay_ms, time_ms now);
    void erase(queue_row& queue, job_row job, time_ms now);
    revive_result revive(queue_row& queue, job_row job, time_ms now);
    [[nodiscard]] std::vector<job_row> dead_among(const queue_row& queue, const dead_request& what);
    [[nodiscard]] std::optional<time_ms> oldest(queue_row& queue);
    std::size_t purge_some(queue_row& queue, purge_progress& at, std::size_t limit);
    [[nodiscard]] queue_info info_of(queue_row& queue);
    [[nodiscard]] job_info info_of(const job_row& job, time_ms now);

    table& rows_;
    const store_limits limits_;
    const id_source lease_ids_;
    std::map<std::string, queue_row, std::less<>> queues_;
    std::unordered_map<std::uint64_t, queue_row*> by_number_;
    std::vector<std::uint64_t> dirty_; // numbers of queues to be saved
    std::uint64_t next_number_ = 1;
    std::size_t done_max_ = SIZE_MAX;
    std::size_t given_max_ = SIZE_MAX;
    time_ms next_due_ = 0; // nothing ends before
    std::vector<change> changes_;
};

} // namespace jobs
