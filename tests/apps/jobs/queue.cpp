#include "jobs/queue.hpp"

#include <algorithm>
#include <chrono>
#include <expected>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>

#include "queue_bench.hpp"
#include "stores.hpp"

using namespace queue_tests;

namespace {

struct opened_store {
    explicit opened_store(const std::string& name) : kind(name), opened(kind.open()) {}
    store_kind kind;
    store& opened;
};
/// Over each kind of store.
struct bench : private opened_store, public queue_bench {
    explicit bench(const std::string& name) : opened_store(name), queue_bench(opened) {}
};

} // namespace

TEST_CASE("jobs are done when the work returns") {
    bench b(each_kind());
    for (const char* key : {"1", "2", "3"})
        b.add(key);
    SECTION("a coroutine that returns a value") {
        const auto done = b.wait(
            b.q.with_taken(2, [](const taken& jobs) -> task<keys> { co_return keys_of(jobs); }));
        REQUIRE(done);
        CHECK(done->value == keys{"1", "2"});
        CHECK(done->completed == 2);
        CHECK(done->lost.empty());
    }
    SECTION("a coroutine that returns none") {
        const auto done = b.wait(b.q.with_taken(2, [](const taken&) -> task<void> { co_return; }));
        REQUIRE(done);
        CHECK(done->completed == 2);
    }
    SECTION("a function that returns a value") {
        const auto done = b.wait(b.q.with_taken(2, [](const taken& jobs) { return jobs.size(); }));
        REQUIRE(done);
        CHECK(done->value == 2);
    }
    SECTION("a function that returns none") {
        const auto done = b.wait(b.q.with_taken(2, [](const taken&) {}));
        REQUIRE(done);
        CHECK(done->completed == 2);
    }
    CHECK(b.in(job_state::queued) == keys{"3"});
    CHECK(b.in(job_state::in_progress).empty());
    CHECK(b.counts().completed == 2);
}

TEST_CASE("jobs go back to their places when the work fails") {
    bench b(each_kind());
    for (const char* key : {"1", "2", "3"})
        b.add(key);
    std::string why;
    SECTION("by an exception, which goes on") {
        const auto failing = [](const taken&) -> task<void> {
            co_await rota::sleep_for(0ms);
            throw std::runtime_error("no route: \xff\n");
        };
        CHECK_THROWS_AS(b.wait(b.q.with_taken(2, failing)), std::runtime_error);
        why = "no route: ??";
    }
    SECTION("by a task that is empty") {
        const auto nothing = [](const taken&) -> task<void> { return {}; };
        CHECK_THROWS_AS(b.wait(b.q.with_taken(2, nothing)), std::logic_error);
        why = "rota: a function has returned a task that is empty or was awaited";
    }
    SECTION("by saying false") {
        const auto done = b.wait(b.q.with_taken(2, [](const taken&) { return false; }));
        REQUIRE(done);
        CHECK(done->completed == 0);
        CHECK(done->lost.empty());
        why = "the work has failed";
    }
    SECTION("by a result without a value") {
        const auto done = b.wait(b.q.with_taken(
            2, [](const taken&) -> std::expected<int, int> { return std::unexpected(7); }));
        REQUIRE(done);
        CHECK(done->value.error() == 7);
        why = "the work has failed";
    }
    CHECK(b.in(job_state::queued) == keys{"1", "2", "3"});
    CHECK(b.counts().failures == 2);
    CHECK(b.find("1").error == why);
    CHECK(b.find("1").attempts == 1);
}

TEST_CASE("jobs whose work failed may wait before they are tried again") {
    bench b(each_kind());
    b.add("1");
    (void)b.wait(b.q.with_taken(1, [](const taken&) { return false; }, {.retry_delay = 1min}));
    CHECK(b.in(job_state::delayed) == keys{"1"});
}

TEST_CASE("work that is cancelled while it waits has taken nothing") {
    bench b(each_kind());
    keys got;
    rota::event go;
    std::optional<finished<std::monostate>> result;
    const rota::routine_ptr r = b.start(1, &got, &go, &result);
    b.scheduler.run();
    r->request_stop();
    b.end(r);
    b.add("1");
    CHECK(got.empty());
    CHECK_FALSE(result);
    CHECK(b.in(job_state::queued) == keys{"1"});
    CHECK(b.find("1").attempts == 0);
}

TEST_CASE("jobs go back when their work is cancelled") {
    bench b(each_kind());
    b.add("1");
    b.add("2");
    keys got;
    rota::event go;
    std::optional<finished<std::monostate>> result;
    const rota::routine_ptr r = b.start(1, &got, &go, &result, {.retry_delay = 1min});
    b.until([&] { return !got.empty(); });
    CHECK(b.in(job_state::in_progress) == keys{"1"});
    r->request_stop();
    b.end(r);
    CHECK_FALSE(result);
    CHECK(b.in(job_state::queued) == keys{"1", "2"}); // at once
    CHECK(b.find("1").attempts == 1);
}

TEST_CASE("work that returns although it was cancelled has done its jobs") {
    bench b(each_kind());
    b.add("1");
    std::optional<std::optional<finished<bool>>> result;
    rota::event go;
    bool began = false;
    const auto stubborn = [&](const taken&) -> task<bool> {
        began = true;
        try {
            co_await go.wait();
        } catch (const rota::operation_cancelled&) {
        }
        co_return true;
    };
    const rota::routine_ptr r = b.spawn(bench::keep_result(b.q.with_taken(1, stubborn), &result));
    b.until([&] { return began; });
    r->request_stop();
    b.end(r);
    REQUIRE(result);
    CHECK((*result)->completed == 1);
    CHECK(b.counts().completed == 1);
}

TEST_CASE("work stands in one line with clients") {
    bench b(each_kind());
    keys served[3];
    rota::event go;
    go.set();
    std::optional<finished<std::monostate>> result[3];
    std::optional<taken> client;
    const rota::routine_ptr first = b.start(1, &served[0], &go, &result[0]);
    b.scheduler.run();
    const rota::routine_ptr second = b.spawn(
        bench::keep_result(b.served.wait_for_jobs(b.served.open("q"), {1, 0}, 1min), &client));
    b.scheduler.run();
    const rota::routine_ptr third = b.start(2, &served[2], &go, &result[2]);
    b.scheduler.run();
    for (const char* key : {"1", "2", "3"})
        b.add(key);
    for (const rota::routine_ptr& r : {first, second, third})
        b.end(r);
    CHECK(served[0] == keys{"1"});
    CHECK(keys_of(*client) == keys{"2"});
    CHECK(served[2] == keys{"3"});
}

TEST_CASE("jobs stay with long work") {
    bench b(each_kind());
    b.add("1");
    keys got;
    rota::event go;
    std::optional<finished<std::monostate>> result;
    const rota::routine_ptr r = b.start(1, &got, &go, &result, {.lease = 30s});
    b.until([&] { return !got.empty(); });
    b.scheduler.run();
    for (std::size_t i = 1; i <= 9; ++i) { // three leases long
        b.scheduler.advance(10s);
        b.until_extended(i);
    }
    CHECK(b.in(job_state::in_progress) == keys{"1"});
    go.set();
    b.end(r);
    REQUIRE(result);
    CHECK(result->completed == 1);
    CHECK(b.counts().expired == 0);
    b.scheduler.advance(1h);
    CHECK(b.events(change_kind::extended) == 9);
}

TEST_CASE("work is told which jobs it has lost") {
    bench b(each_kind());
    for (const char* key : {"1", "2", "3"})
        b.add(key);
    keys got;
    rota::event go;
    std::optional<finished<std::monostate>> result;
    const rota::routine_ptr r = b.start(3, &got, &go, &result, {.lease = 30s});
    b.until([&] { return !got.empty(); });
    b.scheduler.run();
    const std::vector<std::uint64_t> ids{b.find("2").id, b.find("3").id};
    CHECK(b.wait(b.rows.remove("q", ids[0], b.now())));
    b.scheduler.advance(10s);
    b.until_extended(2); // of the other two
    CHECK(b.wait(b.rows.remove("q", ids[1], b.now())));
    go.set();
    b.end(r);
    REQUIRE(result);
    CHECK(result->completed == 1);
    CHECK(result->lost == ids);
}

TEST_CASE("a drain ends waiting for jobs, and no work") {
    bench b(each_kind());
    keys got;
    rota::event go;
    std::optional<finished<std::monostate>> working;
    std::optional<finished<std::monostate>> waiting;
    b.add("1");
    const rota::routine_ptr first = b.start(1, &got, &go, &working);
    b.until([&] { return !got.empty(); });
    keys none;
    const rota::routine_ptr second = b.start(1, &none, &go, &waiting);
    b.scheduler.run();
    b.served.drain();
    b.end(second);
    CHECK_FALSE(waiting);
    CHECK(first->state() != rota::routine_state::stopped);
    go.set();
    b.end(first);
    REQUIRE(working);
    CHECK(working->completed == 1);
    b.add("2");
    CHECK_FALSE(b.wait(b.q.with_taken(1, [](const taken&) {})));
    CHECK(b.in(job_state::queued) == keys{"2"});
}

TEST_CASE("what cannot be taken is refused") {
    bench b("memory");
    const auto nothing = [](const taken&) {};
    CHECK_THROWS_AS(b.wait(b.q.with_taken(0, nothing)), std::invalid_argument);
    CHECK_THROWS_AS(b.wait(b.q.with_taken(1'001, nothing)), std::invalid_argument);
    CHECK_THROWS_AS(b.wait(b.q.with_taken(1, nothing, {.lease = -1ms})), std::invalid_argument);
    CHECK_THROWS_AS(b.wait(b.q.with_taken(1, nothing, {.lease = 13h})), std::invalid_argument);
    CHECK_THROWS_AS(b.wait(b.q.with_taken(1, nothing, {.retry_delay = -1ms})),
                    std::invalid_argument);
    CHECK_THROWS_AS(queue(b.served, "no name"), std::invalid_argument);
    service small(b.rows, {.watched_max = 1});
    const queue one(small, "one");
    CHECK_THROWS_AS(queue(small, "two"), std::length_error);
}
