#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "database.hpp"
#include "jobs/rules/table.hpp"

namespace jobs {

/// Rows in a database. Transactions are the caller's.
class sqlite_table final : public table {
public:
    /// `file` outlives it.
    explicit sqlite_table(sqlite_database& file);

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

    void insert(const job_row& job, std::string key, std::string payload) override;
    void update(const job_row& job, std::optional<std::string_view> lease) override;
    void set_error(const job_row& job, std::string_view error) override;
    void erase(const job_row& job) override;

    bool agrees_with(const queue_row& queue) override;
    std::optional<token_row> find_token(std::uint64_t queue, std::string_view token) override;
    void insert_token(std::uint64_t queue, std::string_view token, token_row row) override;
    void drop_tokens(time_ms now, std::size_t kept_max) override;

private:
    static std::vector<job_row> all(sqlite_statement& of);
    static std::optional<job_row> one(sqlite_statement& of);

    sqlite_statement queues_;
    sqlite_statement save_;
    sqlite_statement erase_queue_;
    sqlite_statement erase_tokens_;
    sqlite_statement find_;
    sqlite_statement find_key_;
    sqlite_statement find_dead_;
    sqlite_statement find_lease_;
    sqlite_statement texts_;
    sqlite_statement key_;
    sqlite_statement list_rest_of_rank_;
    sqlite_statement list_ranks_;
    sqlite_statement due_;
    sqlite_statement next_due_;
    sqlite_statement insert_;
    sqlite_statement update_;
    sqlite_statement update_lease_;
    sqlite_statement set_error_;
    sqlite_statement erase_;
    sqlite_statement find_token_;
    sqlite_statement insert_token_;
    sqlite_statement drop_ended_tokens_;
    sqlite_statement drop_oldest_tokens_;
    sqlite_statement count_tokens_;
    std::size_t tokens_; // about how many there are
};

} // namespace jobs
