#include "schema.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rota/sleep.hpp>

#include "statements.hpp"

namespace jobs {
namespace {

/// What brings a schema from version 0 to 1. A key may be long: its SHA-256 is what is unique.
/// Texts of clients are bytes, so nothing depends on how the database is encoded; for people:
/// convert_from(payload, 'UTF8'). Times are milliseconds since 1970, UTC.
///
/// There are engines on which each CREATE is a transaction of its own, whatever is around it
/// (apps/README.md): so each may have been done before. ASC is for those that would hash. `token`
/// is of version 6, for those where a column that is added cannot be used at once; `lease` is for
/// that version to drop.
constexpr std::array to_version_1{
    "CREATE SEQUENCE IF NOT EXISTS rota_queue_numbers",
    "CREATE SEQUENCE IF NOT EXISTS rota_job_ids",
    "CREATE TABLE IF NOT EXISTS rota_queues (number BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "max_jobs BIGINT NOT NULL DEFAULT 0, max_attempts BIGINT NOT NULL DEFAULT 0, "
    "lease_ms BIGINT NOT NULL DEFAULT 0, payload_bytes_max BIGINT NOT NULL DEFAULT 0, "
    "paused BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE IF NOT EXISTS rota_counts (queue BIGINT NOT NULL REFERENCES rota_queues "
    "(number), "
    "shard BIGINT NOT NULL, queued BIGINT NOT NULL, delayed BIGINT NOT NULL, "
    "in_progress BIGINT NOT NULL, dead BIGINT NOT NULL, added BIGINT NOT NULL, "
    "completed BIGINT NOT NULL, failures BIGINT NOT NULL, expired BIGINT NOT NULL, "
    "duplicates BIGINT NOT NULL, queued_ms BIGINT NOT NULL, in_progress_ms BIGINT NOT NULL, "
    "PRIMARY KEY (queue, shard))",
    "CREATE TABLE IF NOT EXISTS rota_jobs (id BIGINT PRIMARY KEY, queue BIGINT NOT NULL, "
    "added_at BIGINT NOT NULL, since BIGINT NOT NULL, due BIGINT NOT NULL, "
    "queued_ms BIGINT NOT NULL, in_progress_ms BIGINT NOT NULL, attempts BIGINT NOT NULL, "
    "duplicates BIGINT NOT NULL, state SMALLINT NOT NULL, rank SMALLINT NOT NULL, "
    "digest BYTEA NOT NULL, lease BYTEA, token BYTEA, error BYTEA, key BYTEA NOT NULL, "
    "payload BYTEA NOT NULL)",
    "CREATE UNIQUE INDEX IF NOT EXISTS rota_jobs_key ON rota_jobs (queue, digest) WHERE state < 3",
    "CREATE INDEX IF NOT EXISTS rota_jobs_order ON rota_jobs (queue, state, rank, id)",
    "CREATE INDEX IF NOT EXISTS rota_jobs_due ON rota_jobs (due ASC, id ASC) WHERE due > 0",
    "CREATE TABLE IF NOT EXISTS rota_tokens (queue BIGINT NOT NULL, token BYTEA NOT NULL, "
    "fingerprint BIGINT NOT NULL, id BIGINT NOT NULL, expires_at BIGINT NOT NULL, "
    "PRIMARY KEY (queue, token))",
    "CREATE INDEX IF NOT EXISTS rota_tokens_end ON rota_tokens (expires_at ASC)",
};

/// The key first, which finds the job by itself, however many others its queue has.
constexpr std::array to_version_2{
    "CREATE UNIQUE INDEX IF NOT EXISTS rota_jobs_digest ON rota_jobs (digest, queue) "
    "WHERE state < 3",
    "DROP INDEX IF EXISTS rota_jobs_key",
};

/// Why a job failed last: job_cause. Servers of version 2 that still run leave it alone.
constexpr std::array to_version_3{
    "ALTER TABLE rota_jobs ADD COLUMN IF NOT EXISTS cause SMALLINT NOT NULL DEFAULT 0",
};

/// backoff_settings; -1: as usual.
constexpr std::array to_version_4{
    "ALTER TABLE rota_queues ADD COLUMN IF NOT EXISTS backoff_after BIGINT NOT NULL DEFAULT -1",
    "ALTER TABLE rota_queues ADD COLUMN IF NOT EXISTS backoff_initial_ms BIGINT NOT NULL DEFAULT "
    "-1",
    "ALTER TABLE rota_queues ADD COLUMN IF NOT EXISTS backoff_factor_milli BIGINT NOT NULL "
    "DEFAULT -1",
    "ALTER TABLE rota_queues ADD COLUMN IF NOT EXISTS backoff_max_ms BIGINT NOT NULL DEFAULT -1",
};

/// What finds the dead by their keys, the latest last.
constexpr std::array to_version_5{
    "CREATE INDEX IF NOT EXISTS rota_jobs_dead ON rota_jobs (digest, queue, id) WHERE state = 3",
};

/// A row that changes gets an entry in each index of its table, so what is as good as random is in
/// no index of jobs that are not dead: a take would write a page for each job. Their keys are in a
/// table of their own; of a lease, a job's row holds what is behind the id (lease_id.hpp), or all
/// of it if an earlier version has made it.
///
/// The order lets what was left half-made be completed. The index of tokens is there before the
/// rows change: one that is made over rows which have just changed may be left aside by the
/// planner for a time.
///
/// Servers of earlier versions, which would not keep the keys, stop here, those that run, too: none
/// of their statements that change a job does without `lease`.
constexpr std::array to_version_6{
    "ALTER TABLE rota_jobs ADD COLUMN IF NOT EXISTS token BYTEA",
    "ALTER TABLE rota_jobs ADD COLUMN IF NOT EXISTS lease BYTEA", // it may have been dropped
    "CREATE INDEX IF NOT EXISTS rota_jobs_token ON rota_jobs (token) "
    "WHERE octet_length(token) = 32",
    "UPDATE rota_jobs SET token = lease WHERE lease IS NOT NULL",
    "DROP INDEX IF EXISTS rota_jobs_lease", // not every engine does that with the column
    "ALTER TABLE rota_jobs DROP COLUMN IF EXISTS lease",
    "CREATE TABLE IF NOT EXISTS rota_keys (queue BIGINT NOT NULL, digest BYTEA NOT NULL, "
    "id BIGINT NOT NULL, CONSTRAINT rota_keys_digest PRIMARY KEY (digest, queue))",
    "DELETE FROM rota_keys",
    "DROP INDEX IF EXISTS rota_jobs_digest",
    "INSERT INTO rota_keys (queue, digest, id) SELECT queue, digest, id FROM rota_jobs "
    "WHERE state < 3 ORDER BY digest, queue",
};

/// Duplicates that are refused are counted beside the key: the job is not to be locked for them,
/// since takes pass over what is.
constexpr std::array to_version_7{
    "ALTER TABLE rota_keys ADD COLUMN IF NOT EXISTS duplicates BIGINT NOT NULL DEFAULT 0",
};

constexpr std::array<std::span<const char* const>, 7> migrations{
    to_version_1, to_version_2, to_version_3, to_version_4,
    to_version_5, to_version_6, to_version_7};

constexpr std::string_view no_such_table = "42P01";
constexpr int attempts_max = 20;
/// Of one statement: it may go over all jobs, and if it were given up it would begin again.
constexpr std::chrono::hours statement_limit{1};

/// CREATE ... IF NOT EXISTS, too, is refused if another makes the same in that moment (SQLSTATE):
/// unique key of a catalogue, there already, serialization failure, deadlock.
bool others_are_at_it(const std::string& code) {
    constexpr std::array<std::string_view, 5> codes{"23505", "42P07", "42710", "40001", "40P01"};
    return std::ranges::find(codes, code) != codes.end();
}

/// The version, 0 if there is none yet. One row says it; to be changed under its lock.
rota::task<std::int64_t> read_version(postgres_connection* on, bool lock) {
    try {
        const char* const text =
            lock ? sql::lock_schema.text : "SELECT version FROM rota_schema WHERE one = 1";
        const postgres_result answer = co_await on->run(text);
        co_return answer.rows() == 0 ? 0 : answer.integer(0, 0);
    } catch (const statement_refused& e) {
        if (e.code() != no_such_table)
            throw;
    }
    co_return 0;
}

void check_version(std::int64_t version, const std::string& where) {
    if (version < 0 || static_cast<std::uint64_t>(version) > migrations.size()) {
        throw store_error("cannot use the job store " + where + ": it is of version " +
                          std::to_string(version) + ", this program knows up to " +
                          std::to_string(migrations.size()));
    }
}

rota::task<void> run_all(postgres_connection* on, std::vector<std::string> statements) {
    for (const std::string& each : statements) {
        (void)co_await on->run(each.c_str());
    }
}

/// A second server waits for the first at the lock, and finds nothing left to be done.
rota::task<void> migrate_from(postgres_connection* on, std::int64_t version) {
    if (version == 0) {
        std::vector<std::string> first{
            "CREATE TABLE IF NOT EXISTS rota_schema (one BIGINT PRIMARY KEY, "
            "version BIGINT NOT NULL)",
            "INSERT INTO rota_schema (one, version) VALUES (1, 0) ON CONFLICT (one) DO NOTHING"};
        co_await run_all(on, std::move(first));
    }
    (void)co_await on->run(sql::begin.text);
    version = co_await read_version(on, true);
    check_version(version, on->where());
    std::vector<std::string> statements;
    for (auto from = static_cast<std::size_t>(version); from < migrations.size(); ++from)
        statements.insert(statements.end(), migrations[from].begin(), migrations[from].end());
    statements.push_back("UPDATE rota_schema SET version = " + std::to_string(migrations.size()) +
                         " WHERE one = 1");
    statements.emplace_back(sql::commit.text);
    co_await run_all(on, std::move(statements));
}

} // namespace

rota::task<void> migrate(postgres_connection* on) {
    for (int tries = 1;; ++tries) {
        const std::int64_t version = co_await read_version(on, false);
        check_version(version, on->where());
        if (static_cast<std::size_t>(version) == migrations.size())
            co_return;
        on->set_patience(statement_limit);
        try {
            co_await migrate_from(on, version);
            co_return;
        } catch (const statement_refused& e) {
            if (!others_are_at_it(e.code()) || tries == attempts_max)
                throw;
        }
        co_await on->roll_back();
        co_await rota::sleep_for(std::chrono::milliseconds(10 * tries));
    }
}

} // namespace jobs
