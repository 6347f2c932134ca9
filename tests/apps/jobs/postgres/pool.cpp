// The pool under what goes wrong, above all without memory: each step is answered once.

#include "jobs/postgres/pool.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/sleep.hpp>

#include "jobs/rules/step.hpp"
#include "limited_memory.hpp"
#include "postgres_schemas.hpp"

using namespace jobs;
using namespace std::chrono_literals;

namespace {

/// An addition, and what became of it.
class addition final : public store_step {
public:
    explicit addition(std::string key, std::string queue = "q")
        : store_step(adding(std::move(queue), std::move(key))) {}

    /// Whether it has been answered, sooner or later.
    bool wait() {
        std::unique_lock guard(lock);
        return told.wait_for(guard, 30s, [this] { return answers_ != 0; });
    }
    int answers() {
        const std::lock_guard guard(lock);
        return answers_;
    }
    bool succeeded() {
        const std::lock_guard guard(lock);
        return answers_ == 1 && !error_;
    }
    /// If it has been answered without an error.
    add_outcome outcome() {
        const std::lock_guard guard(lock);
        return outcome_;
    }
    void done(std::exception_ptr error) noexcept override {
        const std::lock_guard guard(lock);
        error_ = std::move(error);
        ++answers_;
        told.notify_all();
    }

private:
    static operations::add adding(std::string queue, std::string key) {
        std::vector<new_job> jobs;
        jobs.push_back({std::move(key), "1"});
        return {std::move(queue), std::move(jobs), std::nullopt, 1'800'000'000'000};
    }
    void run(ledger& on, bool) override {
        operations::add copy = *std::get_if<operations::add>(&operation_);
        const std::vector<add_result> results = copy.run(on);
        const std::lock_guard guard(lock);
        outcome_ = results.front().outcome;
    }

    // Of all: one that has been answered may be gone.
    static inline std::mutex lock;
    static inline std::condition_variable told;
    int answers_ = 0;
    std::exception_ptr error_;
    add_outcome outcome_ = add_outcome::added;
};

/// Of the thread that runs it: after so many allocations so many fail, below zero: all.
rota::task<void> limit_memory(long allocations, long failures) {
    test::allocations_left = allocations;
    test::failures_left = failures;
    co_return;
}

rota::task<long> memory_left() { co_return test::allocations_left; }

rota::task<void> submit_limited(postgres_pool* to, std::vector<addition*> what, long allocations,
                                long failures) {
    for (addition* const each : what) {
        std::exception_ptr error;
        if (!to->submit(*each, error))
            each->done(error);
    }
    co_await limit_memory(allocations, failures);
}

/// Its routines are on one thread, whose memory is limited.
struct limited_pool {
    explicit limited_pool(const scratch_schema& in, long allocations = -1, long failures = -1) {
        on.block_on(limit_memory(allocations, failures));
        pool.emplace(on, in.url() + "&application_name=pool",
                     postgres_pool::options{.connections = 2}, [](const std::vector<change>&) {});
    }

    /// Two steps that wait while so many allocations can be made; false if there were more.
    bool add_two(long allocations, long failures) {
        addition one("one" + std::to_string(allocations));
        addition other("other" + std::to_string(allocations));
        on.block_on(submit_limited(&*pool, {&one, &other}, allocations, failures));
        return answered(one, other);
    }
    bool answered(addition& one, addition& other) {
        const bool both = one.wait() && other.wait();
        if (!both)
            pool.reset(); // they are not answered twice
        REQUIRE(both);
        const bool enough = on.block_on(memory_left()) > 0;
        on.block_on(limit_memory(-1, -1));
        add_later();
        CHECK(one.answers() == 1);
        CHECK(other.answers() == 1);
        if (enough) {
            CHECK(one.succeeded());
            CHECK(other.succeeded());
        }
        return !enough;
    }
    /// With memory, as soon as there is a connection again.
    void add_later() {
        const auto limit = std::chrono::steady_clock::now() + 30s;
        while (std::chrono::steady_clock::now() < limit) {
            addition later("later");
            std::exception_ptr error;
            if (pool->submit(later, error)) {
                REQUIRE(later.wait());
                if (later.succeeded())
                    return;
            }
            on.block_on(rota::sleep_for(1ms));
        }
        FAIL("nothing is done any more");
    }

    // No other thread runs what is the worker's.
    rota::io::context on{{.workers = 1, .reactor = {.topology = rota::io::topology::dedicated}}};
    std::optional<postgres_pool> pool;
};

} // namespace

TEST_CASE("whichever allocation fails while two steps wait, both are answered once") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    limited_pool limited(schema);
    limited.add_later();
    long allocations = 0;
    SECTION("one") {
        while (limited.add_two(allocations, 1))
            ++allocations;
        CHECK(allocations > 10);
    }
    SECTION("and all that follow") {
        while (limited.add_two(allocations, -1))
            ++allocations;
        CHECK(allocations > 10);
    }
    SECTION("after their connections have been cut") {
        for (; allocations < 40; ++allocations) {
            CHECK(schema.run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                             "application_name = 'pool'") >= 1);
            (void)limited.add_two(allocations, -1);
        }
    }
}

TEST_CASE("steps that cannot be done together are done each by itself, over the same connection") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    rota::io::context on({.workers = 1});
    postgres_pool pool(on, schema.url(), {.connections = 1, .limits = {.queues_max = 2}},
                       [](const std::vector<change>&) {});
    addition first("1", "first");
    addition second("1", "second"); // the last queue that there is room for
    addition third("1", "third");
    addition fourth("1", "fourth");
    on.block_on(submit_limited(&pool, {&first}, -1, -1));
    REQUIRE(first.wait());
    const std::string backend =
        "SELECT sum(pid) FROM pg_stat_activity WHERE application_name = 'rota-jobs' AND "
        "pid <> pg_backend_pid() AND datname = current_database()";
    const std::int64_t before = schema.run(backend);
    on.block_on(submit_limited(&pool, {&second, &third, &fourth}, -1, -1));
    for (addition* const each : {&second, &third, &fourth}) {
        REQUIRE(each->wait());
        CHECK(each->succeeded());
    }
    CHECK(second.outcome() == add_outcome::added);
    CHECK(third.outcome() == add_outcome::too_many_queues);
    CHECK(fourth.outcome() == add_outcome::too_many_queues);
    CHECK(schema.run(backend) == before);
}

TEST_CASE("whichever allocation fails as a pool begins, its connections serve later") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    limited_pool(schema).add_later();
    for (const long failures : {1L, -1L}) {
        bool short_of_memory = true;
        for (int i = 0; short_of_memory; i += 1 + i / 20) {
            limited_pool limited(schema, i, failures);
            addition one("one" + std::to_string(i));
            addition other("other" + std::to_string(i));
            for (addition* const each : {&one, &other}) {
                std::exception_ptr error;
                if (!limited.pool->submit(*each, error))
                    each->done(error);
            }
            short_of_memory = limited.answered(one, other);
        }
    }
}

namespace {

rota::task<void> lock_table(postgres_connection* by, std::string table) {
    if (!by->is_open())
        co_await by->open(60s);
    (void)co_await by->run("ROLLBACK");
    (void)co_await by->run("BEGIN");
    (void)co_await by->run(("LOCK TABLE " + table).c_str());
}

/// Until so many wait for it.
void wait_until_held(const scratch_schema& schema, const std::string& table, std::int64_t count) {
    while (schema.run("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '" + table +
                      "'::regclass") != count)
        schema.context().block_on(rota::sleep_for(5ms));
}

} // namespace

TEST_CASE("an attempt to connect that began while there was a connection refuses nobody") {
    if (!postgres_for_tests())
        SKIP("ROTA_TEST_POSTGRES names no database");
    const scratch_schema schema;
    limited_pool both(schema);
    both.add_later();
    const auto submit = [&both](addition* step) {
        both.on.block_on(submit_limited(&*both.pool, {step}, -1, -1));
    };
    postgres_connection holder(schema.context(), schema.url());
    const auto lock = [&](const char* table) {
        schema.context().block_on(lock_table(&holder, table));
    };
    lock("rota_keys");
    addition first("1");
    submit(&first);
    wait_until_held(schema, "rota_keys", 1);
    addition second("2");
    submit(&second);
    wait_until_held(schema, "rota_keys", 2); // so both connections are there
    lock("rota_schema");                     // which each new connection reads
    REQUIRE((first.wait() && second.wait()));
    CHECK(schema.run("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                     "application_name = 'pool'") == 2);
    addition third("3");
    submit(&third);
    wait_until_held(schema, "rota_schema", 2); // one after the other finds that it has been cut
    // Later than that a second try does not come before the failure is told.
    schema.context().block_on(rota::sleep_for(1100ms));
    CHECK(schema.run("SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM "
                     "pg_stat_activity WHERE application_name = 'pool' ORDER BY backend_start "
                     "LIMIT 1) AS first") == 1);
    wait_until_held(schema, "rota_schema", 1);
    holder.close();
    REQUIRE(third.wait());
    CHECK(third.succeeded());
}
