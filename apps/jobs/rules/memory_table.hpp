#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "table.hpp"

namespace jobs {

/// Rows in memory. Every call but those that list takes a time that grows with the logarithm of the
/// number of jobs at most. One that lacks memory throws std::bad_alloc, and has changed nothing.
class memory_table final : public table {
public:
    /// What has been done since the last call of either stays, or is undone. Neither allocates.
    void commit() noexcept;
    void roll_back() noexcept;

    std::vector<queue_row> queues() override;
    void save(const queue_row& queue) override;
    void erase_queue(std::uint64_t number) override;

    std::optional<job_row> find(std::uint64_t queue, std::uint64_t id) override;
    std::optional<job_row> find_key(std::uint64_t queue, std::string_view key) override;
    std::vector<job_row> find_dead(std::uint64_t queue, std::string_view key,
                                   std::size_t limit) override;
    std::optional<job_row> find_lease(std::string_view lease) override;
    job_texts texts(const job_row& job) override;
    std::string key(const job_row& job) override;
    std::vector<job_row> list(std::uint64_t queue, job_state state, position after,
                              std::size_t limit) override;
    std::vector<job_row> due(time_ms now, std::size_t limit) override;
    time_ms next_due() override;

    [[nodiscard]] std::uint64_t memory_bytes() const override { return memory_bytes_; }
    void insert(const job_row& job, std::string key, std::string payload) override;
    void update(const job_row& job, std::optional<std::string_view> lease) override;
    void set_error(const job_row& job, std::string_view error) override;
    void erase(const job_row& job) override;

    bool agrees_with(const queue_row& queue) override;
    std::optional<token_row> find_token(std::uint64_t queue, std::string_view token) override;
    void insert_token(std::uint64_t queue, std::string_view token, token_row row) override;
    void drop_tokens(time_ms now, std::size_t kept_max) override;

private:
    /// What most jobs do not have.
    struct remarks {
        std::string error;
        std::string lease;
    };
    struct entry {
        job_row row;
        std::string texts; // the key, then the payload
        std::size_t key_bytes = 0;
        std::unique_ptr<remarks> more; // null: none so far

        /// With its places in what finds it, as measured (bench/results/jobs.md).
        [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
            return 320 + texts.size() + (more ? more->error.size() : 0);
        }
        [[nodiscard]] std::string_view key() const noexcept {
            return std::string_view(texts).substr(0, key_bytes);
        }
        [[nodiscard]] std::string_view lease() const noexcept {
            return more ? std::string_view(more->lease) : std::string_view();
        }
        remarks& remarked();
    };
    static std::string_view key_of(std::string_view key) noexcept { return key; }
    static std::string_view key_of(const entry* job) noexcept { return job->key(); }
    struct hash_key {
        using is_transparent = void;
        std::size_t operator()(const auto& of) const noexcept {
            return std::hash<std::string_view>()(key_of(of));
        }
    };
    struct same_key {
        using is_transparent = void;
        bool operator()(const auto& a, const auto& b) const noexcept {
            return key_of(a) == key_of(b);
        }
    };
    using due_place = std::tuple<time_ms, std::uint64_t, std::uint64_t>; // time, queue, id
    using token_name = std::pair<std::uint64_t, std::string>;
    using job_map = std::unordered_map<std::uint64_t, entry>; // they stay where they are
    using live_set = std::unordered_set<entry*, hash_key, same_key>;
    using dead_set = std::set<std::pair<std::string_view, std::uint64_t>>; // key, id
    using order_set = std::set<position>;
    using due_set = std::set<due_place>;
    using lease_map = std::unordered_map<std::string_view, entry*>;
    using queue_map = std::map<std::uint64_t, queue_row>;
    using token_map = std::map<token_name, token_row>;
    using token_end_map = std::multimap<time_ms, token_name>;

    struct shelf {
        job_map jobs;
        live_set live;
        dead_set dead;
        order_set order[4]; // by state
    };
    /// Nodes of what finds a job: of places that it is to have, or had. So it goes from one place
    /// to another, and back, without an allocation.
    struct spare_nodes {
        order_set::node_type order;
        live_set::node_type live;
        dead_set::node_type dead;
        due_set::node_type due;
        lease_map::node_type lease;
    };

    // What undoes a change. Each is made before the change, and undone behind all that came later.
    struct added_job {
        shelf* in;
        std::uint64_t id;
    };
    struct changed_job {
        shelf* in;
        entry* job;
        job_row before;
        spare_nodes nodes;
        bool leased = false; // the lease has been changed, too
        std::string lease{};
    };
    struct changed_error {
        entry* job;
        std::string before;
    };
    struct erased_job {
        shelf* in;
        job_map::node_type job;
        spare_nodes nodes;
    };
    struct added_queue {
        std::uint64_t number;
    };
    struct saved_queue {
        queue_row before;
    };
    struct erased_queue {
        std::uint64_t number;
        queue_map::node_type row; // its shelf and tokens go when this is to stay
    };
    struct added_token {
        token_name name;
    };
    struct dropped_token {
        token_map::node_type token;
        token_end_map::node_type end;
    };
    using change = std::variant<added_job, changed_job, changed_error, erased_job, added_queue,
                                saved_queue, erased_queue, added_token, dropped_token>;

    void undo(added_job& what) noexcept;
    void undo(changed_job& what) noexcept;
    void undo(changed_error& what) noexcept;
    void undo(erased_job& what) noexcept;
    void undo(added_queue& what) noexcept;
    void undo(saved_queue& what) noexcept;
    void undo(erased_queue& what) noexcept;
    void undo(added_token& what) noexcept;
    void undo(dropped_token& what) noexcept;

    [[nodiscard]] entry* at(std::uint64_t queue, std::uint64_t id);
    void prepare(shelf& in, entry& job, const job_row* from, const job_row& to, spare_nodes& nodes);
    void prepare_lease(entry& job, std::string_view lease, spare_nodes& nodes);
    void put(shelf& in, entry& job, spare_nodes& nodes) noexcept;
    void take_out(shelf& from, entry& job, spare_nodes& nodes) noexcept;
    void lease_as(entry& job, std::string& lease, spare_nodes& nodes) noexcept;
    void set_error(entry& job, std::string& error) noexcept;

    void drop(token_map::iterator token) noexcept;
    [[nodiscard]] token_end_map::iterator end_of(token_map::iterator token) noexcept;

    std::uint64_t memory_bytes_ = 0;
    queue_map queues_;
    std::unordered_map<std::uint64_t, shelf> shelves_; // by the number of the queue
    lease_map leases_;
    due_set due_;
    token_map tokens_;
    token_end_map token_ends_;
    std::vector<change> undo_;
    live_set fresh_live_; // empty: nodes are made in these
    lease_map fresh_lease_;
};

} // namespace jobs
