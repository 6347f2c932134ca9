#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connection.hpp"
#include "jobs/rules/memory_table.hpp"
#include "jobs/rules/table.hpp"

namespace jobs {

/// What is unique about a key: 32 bytes (SHA-256), since keys may be longer than an index takes.
[[nodiscard]] std::string digest_of(std::string_view key);

/// Deletes one whose rows of counts, in those shards, are locked. Refused if there are others.
void drop_queue(postgres_connection& to, std::int64_t number,
                const std::vector<std::int64_t>& shards);

/// The rows that one transaction has in hand, for a ledger to work on: first they are load()ed,
/// locked as need be; then the rules run over them as over any other table; last, write() sends
/// what has become of them. Knows nothing of other rows: the loader sees to it that the rules ask
/// for none. One thread at a time.
class postgres_table final : public table {
public:
    // -- before the rules

    /// Rows of the queue columns, and of the counts if they are `counted`; else the counts are
    /// those of the jobs in hand, to be loaded before: what has changed is told by the difference.
    void load_queues(const postgres_result& rows, bool counted);
    /// Rows of the job columns. `keys`, by their digests, where the rows have none; null: the rules
    /// do not ask for keys, or the rows have them. Returns how large the largest payload is.
    std::size_t load_jobs(const postgres_result& rows,
                          const std::map<std::string, std::string>* keys);
    void load_tokens(const postgres_result& rows);
    void load_ids(const postgres_result& rows);
    /// A queue may be erased whose jobs are all in hand, and its counts, of those shards, locked.
    void allow_removal(std::vector<std::int64_t> shards) {
        may_remove_ = true;
        shards_ = std::move(shards);
    }
    [[nodiscard]] const queue_row* queue_named(const std::string& name) const;

    // -- after the rules

    /// One of the statements that add what may be there meanwhile, and how many rows it has to add.
    struct expected {
        std::size_t statement;
        std::size_t rows;
    };
    /// Sends what has changed; `shard` is where this connection counts.
    std::vector<expected> write(postgres_connection& to, std::int64_t shard, time_ms now);
    [[nodiscard]] std::size_t tokens_added() const noexcept { return new_tokens_.size(); }
    /// The numbers of those that are removed.
    [[nodiscard]] const std::vector<std::int64_t>& erased_queues() const noexcept {
        return erased_queues_;
    }

    // -- for the rules
    std::vector<queue_row> queues() override;
    void save(const queue_row& queue) override;
    void erase_queue(std::uint64_t number) override;
    bool may_erase_queue() override { return may_remove_; }
    std::optional<job_row> find(std::uint64_t queue, std::uint64_t id) override {
        return rows_.find(queue, id);
    }
    std::optional<job_row> find_key(std::uint64_t queue, std::string_view key) override {
        return rows_.find_key(queue, key);
    }
    std::vector<job_row> find_dead(std::uint64_t queue, std::string_view key,
                                   std::size_t limit) override {
        return rows_.find_dead(queue, key, limit);
    }
    std::optional<job_row> find_lease(std::string_view lease) override {
        return rows_.find_lease(lease);
    }
    job_texts texts(const job_row& job) override { return rows_.texts(job); }
    std::string key(const job_row& job) override { return rows_.key(job); }
    std::vector<job_row> list(std::uint64_t queue, job_state state, position after,
                              std::size_t limit) override {
        return rows_.list(queue, state, after, limit);
    }
    std::vector<job_row> due(time_ms now, std::size_t limit) override {
        return rows_.due(now, limit);
    }
    time_ms next_due() override { return rows_.next_due(); }
    std::uint64_t new_id(queue_row& queue) override;
    std::uint64_t id_to_come(const queue_row&) override;
    void insert(const job_row& job, std::string key, std::string payload) override;
    void update(const job_row& job, std::optional<std::string_view> lease) override;
    void count_duplicate(const job_row& job) override;
    void set_error(const job_row& job, std::string_view error) override;
    void erase(const job_row& job) override;
    std::optional<token_row> find_token(std::uint64_t queue, std::string_view token) override {
        return rows_.find_token(queue, token);
    }
    void insert_token(std::uint64_t queue, std::string_view token, token_row row) override;
    /// Is done now and then, by the owner of the connections.
    void drop_tokens(time_ms, std::size_t) override {}

private:
    using place = std::pair<std::uint64_t, std::uint64_t>; // queue, id
    struct changes {
        bool was_dead = false;
        std::optional<std::string> lease; // a new one; empty: none any more
        std::optional<std::string> error;
    };
    changes& changes_of(const job_row& job);
    void write_inserted(postgres_connection& to);
    void write_changed(postgres_connection& to);
    void write_duplicates(postgres_connection& to);
    [[nodiscard]] std::vector<std::int64_t> changed_from(bool was_dead);
    void write_counts(postgres_connection& to, std::int64_t shard);

    memory_table rows_;
    std::map<std::uint64_t, queue_counts> in_hand_;    // by queue
    std::map<std::uint64_t, queue_row> loaded_queues_; // as they were
    std::map<std::uint64_t, queue_row> saved_queues_;  // as they are
    std::set<place> inserted_;
    std::map<place, changes> changed_; // of those that had been there
    std::map<place, std::int64_t> duplicates_;
    std::vector<std::int64_t> erased_;
    std::vector<std::int64_t> erased_queues_;
    bool may_remove_ = false;
    std::vector<std::int64_t> shards_; // of the queue that may be erased
    std::map<std::pair<std::uint64_t, std::string>, token_row> new_tokens_;
    std::vector<std::uint64_t> ids_; // to be given out, from the back
};

} // namespace jobs
