#include "jobs/queue.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include <rota/event.hpp>

#include "postgres_schemas.hpp"
#include "queue_bench.hpp"

#include "jobs/postgres/store.hpp"

using namespace queue_tests;

// Work with jobs whose store cannot be used for a while.

namespace {

/// A role that may use one schema, unless its connections are cut and refused.
class refusable_role {
public:
    explicit refusable_role(const scratch_schema& schema) : schema_(schema) {
        schema_.run("CREATE ROLE " + name_ + " LOGIN");
        schema_.run("DO $$ BEGIN EXECUTE 'GRANT ALL ON SCHEMA ' || current_schema || ' TO " +
                    name_ + "'; END $$");
    }
    refusable_role(const refusable_role&) = delete;
    refusable_role& operator=(const refusable_role&) = delete;
    ~refusable_role() {
        schema_.run("DROP OWNED BY " + name_ + " CASCADE");
        schema_.run("DROP ROLE " + name_);
    }
    [[nodiscard]] std::string url() const {
        std::string url = schema_.url();
        const std::size_t user = url.find("//") + 2;
        return url.replace(user, url.find('@') - user, name_);
    }
    void refuse() const {
        schema_.run("ALTER ROLE " + name_ + " NOLOGIN");
        schema_.run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                    "usename = '" +
                    name_ + "'");
    }
    void allow() const { schema_.run("ALTER ROLE " + name_ + " LOGIN"); }

private:
    const scratch_schema& schema_;
    const std::string name_ = "worker_" + std::to_string(::getpid());
};

/// Work that has a job, for 30 s at a time, and goes on until it is told to end.
struct at_work {
    at_work() {
        b.add("1");
        working = b.start(1, &got, &go, &result, {.lease = 30s});
        b.until([&] { return !got.empty(); });
        b.scheduler.run();
    }
    [[nodiscard]] bool reachable() {
        try {
            (void)b.counts();
            return true;
        } catch (const store_error&) {
            return false;
        }
    }
    /// Returns when every call is refused at once.
    void lose_store() {
        role.refuse();
        while (reachable())
            std::this_thread::sleep_for(1ms);
    }
    void regain_store() {
        role.allow();
        while (!reachable())
            std::this_thread::sleep_for(1ms);
    }

    scratch_schema schema;
    refusable_role role{schema};
    postgres_store rows{schema.context(), role.url(), {}, {.connections = 1}};
    queue_bench b{rows};
    keys got;
    rota::event go;
    std::optional<finished<std::monostate>> result;
    rota::routine_ptr working;
};

void skip_without_database() {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
}

} // namespace

TEST_CASE("work keeps its jobs over an outage that is shorter than their leases") {
    skip_without_database();
    at_work w;
    w.lose_store();
    w.b.scheduler.advance(10s); // here they would have been extended
    w.b.scheduler.run();
    w.regain_store();
    w.b.scheduler.advance(10s);
    w.b.until_extended(1);
    w.b.scheduler.advance(15s); // the first lease is over
    w.b.until_extended(2);
    CHECK(w.b.in(job_state::in_progress) == keys{"1"});
    w.go.set();
    w.b.end(w.working);
    REQUIRE(w.result);
    CHECK(w.result->completed == 1);
    CHECK(w.b.counts().completed == 1);
    CHECK(w.b.counts().expired == 0);
}

TEST_CASE("work that ends while the store is out of reach is told, and its jobs come back") {
    skip_without_database();
    at_work w;
    w.lose_store();
    SECTION("before its lease ends") {}
    SECTION("after its lease has ended") {
        w.b.scheduler.advance(31s);
        w.b.scheduler.run();
    }
    w.go.set();
    w.b.end(w.working);
    CHECK_FALSE(w.result);
    REQUIRE(w.working->error());
    CHECK_THROWS_AS(std::rethrow_exception(w.working->error()), store_error);
    w.regain_store();
    w.b.scheduler.advance(31s);
    w.b.until([&] { return w.b.in(job_state::queued) == keys{"1"}; });
    const auto again = w.b.wait(w.b.q.with_taken(1, [](const taken& jobs) { // once more
        return jobs.front().attempt;
    }));
    REQUIRE(again);
    CHECK(again->value == 2);
    CHECK(again->completed == 1);
    CHECK(w.b.counts().completed == 1);
    CHECK(w.b.counts().expired == 1);
}

TEST_CASE("work whose job somebody else did after an outage is told that it was lost") {
    skip_without_database();
    at_work w;
    const std::uint64_t id = w.b.find("1").id;
    w.lose_store();
    w.b.scheduler.advance(31s);
    w.b.scheduler.run();
    w.regain_store();
    const auto other = w.b.wait(w.b.q.with_taken(1, [](const taken&) {}));
    REQUIRE(other);
    CHECK(other->completed == 1);
    w.go.set();
    w.b.end(w.working);
    REQUIRE(w.result);
    CHECK(w.result->completed == 0);
    CHECK(w.result->lost == std::vector{id});
    CHECK(w.b.counts().completed == 1);
}

TEST_CASE("work that fails while the store is out of reach fails with its own error") {
    skip_without_database();
    at_work w;
    w.b.add("2");
    bool began = false;
    rota::event fail;
    const auto failing = [&](const taken&) -> task<bool> {
        began = true;
        co_await fail.wait();
        throw std::runtime_error("no route");
    };
    std::optional<std::optional<finished<bool>>> none;
    const rota::routine_ptr r =
        w.b.spawn(queue_bench::keep_result(w.b.q.with_taken(1, failing), &none));
    w.b.until([&] { return began; });
    w.lose_store();
    fail.set();
    w.go.set();
    w.b.end(r);
    w.b.end(w.working);
    REQUIRE(r->error());
    CHECK_THROWS_WITH(std::rethrow_exception(r->error()), "no route");
    w.regain_store();
    w.b.scheduler.advance(31s);
    w.b.until([&] { return w.b.in(job_state::queued) == keys{"1", "2"}; });
    CHECK(w.b.counts().completed == 0);
}
