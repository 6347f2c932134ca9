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
#include <vector>

#include "table.hpp"

namespace jobs {

/// Rows in memory. Every call but those that list takes a time that grows with the logarithm of the
/// number of jobs at most. Nothing is kept of queues but their jobs: the ledger knows the rest.
class memory_table final : public table {
public:
    std::vector<queue_row> queues() override { return {}; }
    void save(const queue_row& queue) override { (void)queue; }
    void erase_queue(std::uint64_t number) override;

    std::optional<job_row> find(std::uint64_t queue, std::uint64_t id) override;
    std::optional<job_row> find_key(std::uint64_t queue, std::string_view key) override;
    std::optional<job_row> find_lease(std::string_view lease) override;
    job_texts texts(const job_row& job) override;
    std::vector<job_row> list(std::uint64_t queue, job_state state, position after,
                              std::size_t limit) override;
    std::vector<job_row> due(time_ms now, std::size_t limit) override;
    time_ms next_due() override;

    [[nodiscard]] std::uint64_t memory_bytes() const override { return memory_bytes_; }
    void insert(const job_row& job, std::string key, std::string payload) override;
    void update(const job_row& job, std::optional<std::string_view> lease) override;
    void set_error(const job_row& job, std::string_view error) override;
    void erase(const job_row& job) override;
    void erase_all(std::uint64_t queue, job_state state) override;

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
    struct shelf {
        std::unordered_map<std::uint64_t, entry> jobs; // they stay where they are
        std::unordered_set<entry*, hash_key, same_key> live;
        std::set<position> order[4]; // by state
    };
    using due_place = std::tuple<time_ms, std::uint64_t, std::uint64_t>; // time, queue, id
    using token_name = std::pair<std::uint64_t, std::string>;

    [[nodiscard]] entry* at(std::uint64_t queue, std::uint64_t id);
    void put(shelf& in, entry& job);
    void take_out(shelf& from, entry& job);

    std::uint64_t memory_bytes_ = 0;
    std::unordered_map<std::uint64_t, shelf> shelves_; // by the number of the queue
    std::unordered_map<std::string_view, entry*> leases_;
    std::set<due_place> due_;
    std::map<token_name, token_row> tokens_;
    std::multimap<time_ms, token_name> token_ends_;
};

} // namespace jobs
