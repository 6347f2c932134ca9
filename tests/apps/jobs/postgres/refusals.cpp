// What a server that can be had refuses: how it is told, and that a probe finds it, too.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "jobs/postgres/store.hpp"
#include "postgres_schemas.hpp"

using namespace jobs;

namespace {

constexpr time_ms asked_at = 1'800'000'000'000;

rota::task<std::optional<store_fault>> fault_of_probe(store* of) {
    try {
        rota::task<void> probing = of->probe(asked_at);
        co_await std::move(probing);
    } catch (const store_error& e) {
        co_return e.kind();
    }
    co_return std::nullopt;
}

rota::task<std::optional<store_fault>> fault_of_adding(store* to, std::string key) {
    std::vector<new_job> jobs;
    jobs.push_back({std::move(key), "1"});
    try {
        rota::task<std::vector<add_result>> adding =
            to->add("q", std::move(jobs), std::nullopt, asked_at);
        (void)co_await std::move(adding);
    } catch (const store_error& e) {
        co_return e.kind();
    }
    co_return std::nullopt;
}

/// A schema that holds one job, and a store over it as a URL with more in it opens it.
struct refusing {
    refusing() {
        postgres_store made(schema.context(), schema.url());
        REQUIRE_FALSE(wait(fault_of_adding(&made, "first")));
    }
    template <class T>
    T wait(rota::task<T> call) {
        return schema.context().block_on(std::move(call));
    }
    /// Everything that becomes a job is refused so.
    void refuse(const std::string& code) {
        schema.run("CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
                   "BEGIN RAISE 'no' USING errcode = '" +
                   code + "'; END $$");
        schema.run("CREATE OR REPLACE TRIGGER refused BEFORE INSERT ON rota_jobs FOR EACH ROW "
                   "EXECUTE FUNCTION refuse()");
    }
    void refuse_no_more() { schema.run("DROP TRIGGER refused ON rota_jobs"); }

    scratch_schema schema;
};

} // namespace

TEST_CASE("a server that takes no changes can be had, and jobs cannot be added") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    refusing s;
    postgres_store store(s.schema.context(),
                         s.schema.url() + "%20-cdefault_transaction_read_only%3Don");
    CHECK(s.wait(fault_of_adding(&store, "second")) == store_fault::failed);
    CHECK(s.wait(fault_of_probe(&store)) == store_fault::failed);
    CHECK(s.wait(store.describe("q", asked_at))->counts.queued == 1);
}

TEST_CASE("who may only read can add no jobs, and the probe says so") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    refusing s;
    const std::string role = "rota_reader_" + std::to_string(::getpid());
    s.schema.run("CREATE ROLE " + role + " LOGIN");
    s.schema.run("DO $$ BEGIN EXECUTE 'GRANT USAGE ON SCHEMA ' || current_schema || ' TO " + role +
                 "'; EXECUTE 'GRANT SELECT ON ALL TABLES IN SCHEMA ' || current_schema || ' TO " +
                 role + "'; END $$");
    {
        postgres_store store(s.schema.context(), s.schema.url() + "&user=" + role);
        CHECK(s.wait(store.describe("q", asked_at))->counts.queued == 1);
        CHECK(s.wait(fault_of_adding(&store, "second")) == store_fault::failed);
        CHECK(s.wait(fault_of_probe(&store)) == store_fault::failed);
        s.schema.run("REVOKE SELECT ON rota_schema FROM " + role);
    }
    postgres_store kept_out(s.schema.context(), s.schema.url() + "&user=" + role);
    CHECK(s.wait(fault_of_probe(&kept_out)) == store_fault::failed); // it can be had
    s.schema.run("DROP OWNED BY " + role);
    s.schema.run("DROP ROLE " + role);
}

TEST_CASE("a full disk of the server is told as one, until there is room for a job") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    refusing s;
    postgres_store store(s.schema.context(), s.schema.url());
    CHECK_FALSE(s.wait(fault_of_probe(&store)));
    s.refuse("57014");
    CHECK(s.wait(fault_of_adding(&store, "second")) == store_fault::failed);
    CHECK_FALSE(s.wait(fault_of_probe(&store))); // nothing tells it that it would be so again
    s.refuse("53100");
    CHECK(s.wait(fault_of_adding(&store, "second")) == store_fault::full);
    CHECK(store.health().is_full());
    CHECK(s.wait(fault_of_probe(&store)) == store_fault::full);
    s.refuse_no_more();
    CHECK_FALSE(s.wait(fault_of_probe(&store)));
    CHECK(s.schema.run("SELECT count(*) FROM rota_jobs") == 1);
    CHECK(s.schema.run("SELECT count(*) FROM rota_keys") == 1);
    CHECK_FALSE(s.wait(fault_of_adding(&store, "second")));
}
