#include <rota/awaitable.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/event.hpp>
#include <rota/every.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/join.hpp>
#include <rota/mutex.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/under.hpp>
#include <rota/when_all.hpp>
#include <rota/when_any.hpp>
#include <rota/when_settled.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

/// An awaiter of a user's, by way of operator co_await.
struct doubled {
    int of;
    struct awaiter {
        int of;
        bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<> /*self*/) const noexcept {}
        int await_resume() const noexcept { return 2 * of; }
    };
    awaiter operator co_await() const noexcept { return {of}; }
};
struct tripled {
    int of;
};
doubled::awaiter operator co_await(tripled t) { return {.of = t.of + t.of / 2}; }

struct nothing {};

static_assert(rota::awaitable<rota::task<int>>);
static_assert(rota::awaitable<rota::channel<int>::pop_awaiter>);
static_assert(rota::awaitable<rota::channel<int>::push_awaiter>);
static_assert(rota::awaitable<rota::mutex::lock_awaiter>);
static_assert(rota::awaitable<rota::join_awaiter>);
static_assert(rota::awaitable<rota::yield_awaiter>);
static_assert(rota::awaitable<rota::task_group::join_awaiter>);
static_assert(rota::awaitable<doubled> && rota::awaitable<tripled>);
static_assert(!rota::awaitable<int> && !rota::awaitable<nothing>);
static_assert(!rota::task_body<nothing> && !rota::task_body<int (*)(int)>);
static_assert(std::same_as<rota::await_result_t<rota::task<int>>, int>);
static_assert(
    std::same_as<rota::body_result_t<rota::channel<int>::pop_awaiter>, std::optional<int>>);
static_assert(std::same_as<rota::body_result_t<rota::task<void> (*)()>, void>);
static_assert(std::same_as<rota::body_result_t<int (*)()>, int>);

/// Tells whether it is there.
struct guest {
    explicit guest(int* there) : there_(there) { ++*there_; }
    guest(const guest& other) : guest(other.there_) {}
    guest(guest&& other) noexcept : guest(other.there_) {}
    guest& operator=(const guest&) = delete;
    ~guest() { --*there_; }
    int* there_;
};

rota::task<int> seven() {
    co_await rota::sleep_for(1ms);
    co_return 7;
}

} // namespace

TEST_CASE("a task is itself; a wait, an awaiter, a function become one") {
    rota::inline_scheduler scheduler;
    rota::channel<std::string> c(1);
    REQUIRE(scheduler.run_task(seven()) == 7);
    REQUIRE(scheduler.run_task(seven) == 7);
    REQUIRE(scheduler.run_task(rota::as_task(rota::as_task(seven))) == 7);
    REQUIRE(scheduler.run_task(c.push("a value that is long enough to be allocated")));
    REQUIRE(scheduler.run_task(c.pop())->size() == 43);
    REQUIRE(scheduler.run_task(doubled{4}) == 8);
    REQUIRE(scheduler.run_task(tripled{4}) == 12);
    REQUIRE(scheduler.run_task([] { return 3; }) == 3);
    REQUIRE(scheduler.run_task([&c] { return c.push("x"); }));
    REQUIRE(*scheduler.run_task(
                [p = std::make_unique<int>(5)]() mutable { return std::move(p); }) == 5);
    rota::task<int> named = seven();
    REQUIRE(scheduler.run_task(rota::with_timeout(1s, std::move(named))) == 7);
    REQUIRE_FALSE(named.valid());
}

TEST_CASE("a function is kept as long as what it has begun runs, and no longer") {
    rota::inline_scheduler scheduler;
    int there = 0;
    int seen = 0;
    {
        const auto body = [g = guest(&there), &seen]() -> rota::task<void> {
            co_await rota::sleep_for(1s);
            seen = *g.there_;
        };
        scheduler.spawn(body);
    }
    REQUIRE(there == 1);
    REQUIRE(scheduler.advance(1s) == rota::run_status::no_routines);
    REQUIRE(seen == 1);
    REQUIRE(there == 0);
}

TEST_CASE("children of a group keep their functions, and a parent's locals are theirs, too") {
    rota::inline_scheduler scheduler;
    std::string log;
    scheduler.run_task([&log]() -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        for (int i = 0; i < 3; ++i) {
            group.spawn(
                [text = std::string(30, static_cast<char>('a' + i)), &log]() -> rota::task<void> {
                    co_await rota::sleep_for(1ms);
                    log += text.front();
                });
        }
        group.spawn([&log] { log += "!"; });
        co_await group.join();
    });
    REQUIRE(log == "!abc");
}

TEST_CASE("a function that throws before there is a coroutine fails as a coroutine does") {
    rota::inline_scheduler scheduler;
    const auto throws = []() -> rota::task<int> { throw std::runtime_error("on purpose"); };
    REQUIRE_THROWS_AS(scheduler.run_task(throws), std::runtime_error);
    const auto in_group = [&]() -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        group.spawn(throws);
        co_await group.join();
    };
    REQUIRE_THROWS_AS(scheduler.run_task(in_group), std::runtime_error);
}

TEST_CASE("a routine on another worker keeps the lambda that it was spawned with") {
    rota::runtime rt({.workers = 2});
    rota::event go;
    std::string seen;
    rota::routine_ptr r;
    {
        std::string text = "captured by value, and long enough to be allocated";
        r = rt.spawn([text, &go, &seen]() -> rota::task<void> {
            co_await go.wait();
            seen = text;
        });
    }
    rt.start();
    go.set();
    r->wait_stopped();
    REQUIRE(seen.starts_with("captured"));
    REQUIRE(rt.block_on([&seen]() -> rota::task<std::size_t> { co_return seen.size(); }) == 50);
}

TEST_CASE("a function that returns a task that is empty, or was awaited, fails") {
    std::exception_ptr told;
    rota::inline_scheduler scheduler(
        [&](const rota::routine&, std::exception_ptr error) { told = std::move(error); });
    const auto empty = []() -> rota::task<int> { return {}; };
    const auto awaited = []() -> rota::task<int> {
        rota::task<int> spent = seven();
        rota::inline_scheduler other;
        (void)other.run_task(spent.under(std::stop_token()));
        return spent;
    };
    REQUIRE_THROWS_AS(scheduler.run_task(empty), std::logic_error);
    REQUIRE_THROWS_AS(scheduler.run_task(awaited), std::logic_error);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::with_timeout(1s, empty)), std::logic_error);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::when_all(seven, empty)), std::logic_error);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::when_any(empty, seven)), std::logic_error);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::under(std::stop_token(), empty)), std::logic_error);
    const auto in_group = [&]() -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        group.spawn(empty);
        co_await group.join();
    };
    REQUIRE_THROWS_AS(scheduler.run_task(in_group), std::logic_error);
    const rota::routine_ptr alone = scheduler.spawn(empty);
    scheduler.run();
    REQUIRE(told != nullptr);
    REQUIRE_THROWS_AS(std::rethrow_exception(alone->error()), std::logic_error);
    told = nullptr;
    scheduler.spawn(rota::every(1s, empty));
    scheduler.advance(1s);
    REQUIRE(told != nullptr); // and it goes on
    REQUIRE(scheduler.routine_count() == 1);
}

TEST_CASE("a task that is empty is refused where it is handed over, and those beside it go") {
    rota::inline_scheduler scheduler;
    REQUIRE_THROWS_AS(rota::as_task(rota::task<int>()), std::invalid_argument);
    REQUIRE_THROWS_AS(scheduler.spawn(rota::task<int>()), std::invalid_argument);
    REQUIRE_THROWS_AS(rota::with_timeout(1s, rota::task<void>()), std::invalid_argument);
    REQUIRE_THROWS_AS(rota::when_all(seven(), rota::task<int>()), std::invalid_argument);
    REQUIRE_THROWS_AS(rota::when_any(rota::task<int>(), seven()), std::invalid_argument);
    REQUIRE_THROWS_AS(rota::when_settled(rota::task<void>()), std::invalid_argument);
    REQUIRE_THROWS_AS(rota::under(std::stop_token(), rota::task<void>()), std::invalid_argument);
    std::vector<rota::task<int>> some;
    some.push_back(seven());
    some.emplace_back();
    REQUIRE_THROWS_AS(rota::when_all(std::move(some)), std::invalid_argument);
    std::vector<rota::task<int>> more(1);
    REQUIRE_THROWS_AS(rota::when_any(std::move(more)), std::invalid_argument);
}
