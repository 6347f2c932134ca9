#include "jobs/postgres/schema.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "jobs/postgres/store.hpp"
#include "postgres_schemas.hpp"
#include <rota/sleep.hpp>

using namespace jobs;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr time_ms schema_time = 1'800'000'000'000;

/// A schema, and a store that is opened over it.
class schema_user {
public:
    template <class T>
    T wait(rota::task<T> call) {
        return schema.context().block_on(std::move(call));
    }
    void open() { store.emplace(schema.context(), schema.url()); }
    add_outcome add(std::string key) {
        std::vector<new_job> jobs;
        jobs.push_back({std::move(key), "1"});
        return wait(store->add("q", std::move(jobs), std::nullopt, schema_time)).front().outcome;
    }
    std::vector<taken_job> take() {
        return wait(store->take("q", {take_request{1, 0}}, schema_time)).front();
    }
    std::size_t ack(std::string lease) {
        return wait(store->settle("q", {std::move(lease)}, {}, schema_time)).acked;
    }
    revive_outcome retry_dead(std::uint64_t id) {
        return wait(store->retry_dead("q", id, schema_time)).outcome;
    }
    std::int64_t version() { return schema.run("SELECT version FROM rota_schema"); }
    void set_version(std::int64_t to) {
        schema.run("UPDATE rota_schema SET version = " + std::to_string(to));
    }
    bool has_index(const std::string& name) {
        return schema.run("SELECT count(*) FROM pg_indexes WHERE schemaname = current_schema AND "
                          "indexname = '" +
                          name + "'") != 0;
    }

    scratch_schema schema;
    std::optional<postgres_store> store;
};

// As they were made by programs that there have been.
const std::vector<const char*> tables_of_1{
    "CREATE TABLE rota_schema (one BIGINT PRIMARY KEY, version BIGINT NOT NULL)",
    "INSERT INTO rota_schema (one, version) VALUES (1, 1)",
    "CREATE SEQUENCE rota_queue_numbers",
    "CREATE SEQUENCE rota_job_ids",
    "CREATE TABLE rota_queues (number BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "max_jobs BIGINT NOT NULL DEFAULT 0, max_attempts BIGINT NOT NULL DEFAULT 0, "
    "lease_ms BIGINT NOT NULL DEFAULT 0, payload_bytes_max BIGINT NOT NULL DEFAULT 0, "
    "paused BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE rota_counts (queue BIGINT NOT NULL REFERENCES rota_queues (number), "
    "shard BIGINT NOT NULL, queued BIGINT NOT NULL, delayed BIGINT NOT NULL, "
    "in_progress BIGINT NOT NULL, dead BIGINT NOT NULL, added BIGINT NOT NULL, "
    "completed BIGINT NOT NULL, failures BIGINT NOT NULL, expired BIGINT NOT NULL, "
    "duplicates BIGINT NOT NULL, queued_ms BIGINT NOT NULL, in_progress_ms BIGINT NOT NULL, "
    "PRIMARY KEY (queue, shard))",
    "CREATE TABLE rota_jobs (id BIGINT PRIMARY KEY, queue BIGINT NOT NULL, "
    "added_at BIGINT NOT NULL, since BIGINT NOT NULL, due BIGINT NOT NULL, "
    "queued_ms BIGINT NOT NULL, in_progress_ms BIGINT NOT NULL, attempts BIGINT NOT NULL, "
    "duplicates BIGINT NOT NULL, state SMALLINT NOT NULL, rank SMALLINT NOT NULL, "
    "digest BYTEA NOT NULL, lease BYTEA, error BYTEA, key BYTEA NOT NULL, payload BYTEA NOT NULL)",
    "CREATE UNIQUE INDEX rota_jobs_key ON rota_jobs (queue, digest) WHERE state < 3",
    "CREATE INDEX rota_jobs_order ON rota_jobs (queue, state, rank, id)",
    "CREATE INDEX rota_jobs_due ON rota_jobs (due ASC, id ASC) WHERE due > 0",
    "CREATE UNIQUE INDEX rota_jobs_lease ON rota_jobs (lease) WHERE lease IS NOT NULL",
    "CREATE TABLE rota_tokens (queue BIGINT NOT NULL, token BYTEA NOT NULL, "
    "fingerprint BIGINT NOT NULL, id BIGINT NOT NULL, expires_at BIGINT NOT NULL, "
    "PRIMARY KEY (queue, token))",
    "CREATE INDEX rota_tokens_end ON rota_tokens (expires_at ASC)",
};
const std::vector<const char*> from_1_to_5{
    "CREATE UNIQUE INDEX rota_jobs_digest ON rota_jobs (digest, queue) WHERE state < 3",
    "DROP INDEX rota_jobs_key",
    "ALTER TABLE rota_jobs ADD COLUMN cause SMALLINT NOT NULL DEFAULT 0",
    "ALTER TABLE rota_queues ADD COLUMN backoff_after BIGINT NOT NULL DEFAULT -1",
    "ALTER TABLE rota_queues ADD COLUMN backoff_initial_ms BIGINT NOT NULL DEFAULT -1",
    "ALTER TABLE rota_queues ADD COLUMN backoff_factor_milli BIGINT NOT NULL DEFAULT -1",
    "ALTER TABLE rota_queues ADD COLUMN backoff_max_ms BIGINT NOT NULL DEFAULT -1",
    "CREATE INDEX rota_jobs_dead ON rota_jobs (digest, queue, id) WHERE state = 3",
    "UPDATE rota_schema SET version = 5",
};
// A job of each state, one that has the key of the dead one, and one that is in progress, too.
const std::string old_lease = "0000000000060123456789abcdef0123"; // as if it were of that: job 6
const std::vector<std::string> what_they_hold{
    "INSERT INTO rota_queues (number, name) VALUES (nextval('rota_queue_numbers'), 'q')",
    "INSERT INTO rota_jobs (id, queue, added_at, since, due, queued_ms, in_progress_ms, attempts, "
    "duplicates, state, rank, digest, lease, error, key, payload) SELECT nextval('rota_job_ids'), "
    "1, 1, 1, due, 0, 0, attempts, 0, state, 9, sha256(key), lease, error, key, '1' FROM (VALUES "
    "(0, 0, 0, 'queued'::bytea, NULL::bytea, NULL::bytea), "
    "(1, 1800000050000, 3, 'delayed', NULL, 'third'), "
    "(2, 1800000050000, 1, 'in progress', '" +
        old_lease +
        "', NULL), (3, 0, 2, 'dies', NULL, 'last'), (0, 0, 0, 'dies', NULL, NULL), "
        "(2, 1800000050000, 1, 'beside', 'fedcba98765432100123456789abcdef', NULL)) "
        "j (state, due, attempts, key, lease, error)",
    "INSERT INTO rota_counts VALUES (1, 0, 2, 1, 2, 1, 6, 0, 0, 0, 0, 0, 0)",
};

/// Version 1 or 5.
void make_schema_of(schema_user& s, int version) {
    for (const char* const each : tables_of_1)
        s.schema.run(each);
    if (version == 5) {
        for (const char* const each : from_1_to_5)
            s.schema.run(each);
    }
    for (const std::string& each : what_they_hold)
        s.schema.run(each);
}

} // namespace

TEST_CASE("a schema of a newer program is refused, and the program recovers when it is not") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    schema_user s;
    s.open();
    CHECK_FALSE(s.wait(s.store->describe("q", schema_time)));
    const auto newest = s.version();
    s.set_version(1000);
    s.open();
    CHECK_THROWS_WITH(s.wait(s.store->describe("q", schema_time)),
                      ContainsSubstring("version 1000"));
    s.set_version(newest);
    for (bool there = false; !there;) {
        try {
            there = s.add("k") == add_outcome::added;
        } catch (const store_error&) {
            s.wait(rota::sleep_for(std::chrono::milliseconds(20)));
        }
    }
}

TEST_CASE("a schema that was left half-made is completed, with what it holds") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    schema_user s;
    s.open();
    CHECK(s.add("first") == add_outcome::added);
    CHECK(s.add("second") == add_outcome::added);
    const std::string lease = s.take().at(0).lease_id;
    s.store.reset();
    // As where CREATE cannot be undone with its transaction.
    const auto newest = s.version();
    SECTION("from the first version on") {
        s.schema.run("DROP TABLE rota_tokens");
        s.schema.run("DROP INDEX rota_jobs_due");
        s.set_version(0);
    }
    SECTION("from one that had the leases in a column that is gone") {
        s.schema.run("DROP TABLE rota_keys");
        s.set_version(5);
    }
    s.open();
    CHECK(s.add("k") == add_outcome::added);
    CHECK(s.version() == newest);
    CHECK(s.add("first") == add_outcome::duplicate);
    CHECK(s.add("second") == add_outcome::duplicate);
    CHECK(s.ack(lease) == 1);
    CHECK(s.add("first") == add_outcome::added);
}

TEST_CASE("a schema of an earlier version is brought to this one, with what it holds") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    schema_user s;
    make_schema_of(s, GENERATE(1, 5));
    s.open();
    for (const char* const key : {"queued", "delayed", "in progress", "dies", "beside"})
        CHECK(s.add(key) == add_outcome::duplicate);
    CHECK(s.add("other") == add_outcome::added);
    CHECK(s.wait(s.store->extend("q", {old_lease}, 60'000, schema_time)).leases.size() == 1);
    CHECK(s.ack(old_lease) == 1);
    CHECK(s.ack(old_lease) == 0);
    CHECK(s.add("in progress") == add_outcome::added);
    CHECK(s.add("beside") == add_outcome::duplicate);
    CHECK(s.retry_dead(4) == revive_outcome::duplicate);
    CHECK(s.wait(s.store->remove("q", 5, schema_time)));
    CHECK(s.wait(s.store->find("q", 4, schema_time))->error == "last");
    CHECK(s.retry_dead(4) == revive_outcome::revived);
    CHECK(s.add("dies") == add_outcome::duplicate);
    const std::vector<taken_job> taken = s.take();
    REQUIRE(taken.size() == 1);
    CHECK(taken[0].key == "queued");
    CHECK(s.ack(taken[0].lease_id) == 1);
    CHECK(s.add("queued") == add_outcome::added);
    const queue_counts counts = s.wait(s.store->describe("q", schema_time))->counts;
    CHECK(counts.queued == 4);
    CHECK(counts.delayed == 1);
    CHECK(counts.in_progress == 1);
    CHECK(counts.dead == 0);
    CHECK_FALSE(s.has_index("rota_jobs_key"));
    CHECK_FALSE(s.has_index("rota_jobs_digest"));
}

TEST_CASE("each table has a primary key, without which nothing published can be deleted") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    schema_user s;
    s.open();
    CHECK(s.add("k") == add_outcome::added);
    CHECK(s.schema.run("SELECT count(*) FROM pg_class c WHERE c.relkind = 'r' AND "
                       "c.relnamespace = current_schema::regnamespace AND NOT EXISTS (SELECT FROM "
                       "pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)") == 0);
}

TEST_CASE("a server of an earlier version that goes on beside a new one changes no job") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    schema_user s;
    make_schema_of(s, 5);
    postgres_connection old(s.schema.context(), s.schema.url());
    s.wait(old.open(std::chrono::seconds(60)));
    // How it looks for jobs that it is to change: by columns that all of its statements give.
    old.prepare("lock_ids", "SELECT j.cause, j.lease, j.digest FROM rota_jobs j WHERE j.id = 1 "
                            "FOR UPDATE OF j");
    old.send("lock_ids");
    CHECK(s.wait(old.sync()).back().rows() == 1);
    s.open();
    CHECK(s.add("queued") == add_outcome::duplicate);
    old.send("lock_ids");
    CHECK(s.wait(old.sync()).back().error_code() == "42703");
}
