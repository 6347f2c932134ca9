#include <rota/with_timeout.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <ratio>
#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<std::string> answer_after(std::chrono::milliseconds length) {
    co_await rota::sleep_for(length);
    co_return std::string("a value that is long enough to be allocated");
}

rota::task<std::unique_ptr<int>> answer_at_once() { co_return std::make_unique<int>(7); }

/// Takes its time even when cancelled, and then has a value all the same.
rota::task<int> stubborn(bool* ended) {
    try {
        co_await rota::sleep_for(1h);
    } catch (const rota::operation_cancelled&) {
    }
    *ended = true;
    co_return 5;
}

rota::task<void> fail_when_cancelled() {
    try {
        co_await rota::sleep_for(1h);
    } catch (const rota::operation_cancelled&) {
        throw std::runtime_error("an error of its own");
    }
}

} // namespace

TEST_CASE("a body that ends in time gives its value and leaves no timer") {
    rota::inline_scheduler scheduler;
    const auto start = scheduler.now();
    REQUIRE(scheduler.run_task(rota::with_timeout(1s, answer_after(999ms))).size() == 43);
    REQUIRE(scheduler.now() == start + 999ms);
    REQUIRE(scheduler.home().timers().armed() == 0);
    REQUIRE(*scheduler.run_task(rota::with_timeout(0s, answer_at_once())) == 7);
}

TEST_CASE("a time that the clock cannot count is for ever") {
    rota::inline_scheduler scheduler;
    REQUIRE(
        scheduler.run_task(rota::with_timeout(std::chrono::milliseconds::max(), answer_after(24h)))
            .size() == 43);
    REQUIRE(scheduler.run_task(rota::with_timeout(std::chrono::hours::max(), answer_after(24h)))
                .size() == 43);
    REQUIRE_THROWS_AS(
        scheduler.run_task(rota::with_timeout(std::chrono::hours::min(), answer_after(1ms))),
        rota::timed_out);
    constexpr rota::time_span longest = std::chrono::duration<double>(1e300);
    static_assert(std::chrono::steady_clock::duration(longest) ==
                  std::chrono::steady_clock::duration::max());
    static_assert(std::chrono::steady_clock::duration(rota::time_span(1ms)) == 1ms);
    // Periods whose ticks do not divide a nanosecond, and those that the clock cannot count at all.
    using binary = std::chrono::duration<int, std::ratio<1, 1024>>;
    static_assert(std::chrono::steady_clock::duration(rota::time_span(binary(10))) == 9'765'625ns);
    static_assert(std::chrono::steady_clock::duration(rota::time_span(binary(-10))) ==
                  -9'765'625ns);
    using third = std::chrono::duration<unsigned long long, std::ratio<1, 3>>;
    static_assert(std::chrono::steady_clock::duration(rota::time_span(third(4))) ==
                  1'333'333'333ns);
    static_assert(std::chrono::steady_clock::duration(rota::time_span(third::max())) ==
                  std::chrono::steady_clock::duration::max());
    static_assert(std::chrono::steady_clock::duration(
                      rota::time_span(std::chrono::duration<long long, std::pico>(1'500))) == 1ns);
    constexpr auto counted = [](rota::time_span s) {
        return std::chrono::steady_clock::duration(s);
    };
    static_assert(counted(std::chrono::duration<std::uint32_t, std::milli>(500)) == 500ms);
    static_assert(counted(std::chrono::duration<std::uint64_t, std::milli>(100)) == 100ms);
    static_assert(counted(std::chrono::duration<unsigned>(5)) == 5s);
    static_assert(counted(std::chrono::duration<int, std::micro>(-100)) == -100us);
    static_assert(counted(std::chrono::duration<std::uint64_t, std::nano>::max()) ==
                  std::chrono::steady_clock::duration::max());
    static_assert(counted(std::chrono::duration<double, std::nano>::max()) ==
                  std::chrono::steady_clock::duration::max());
    constexpr auto no_number = std::numeric_limits<double>::quiet_NaN();
    static_assert(counted(std::chrono::duration<double>(no_number)) == 0ns);
    static_assert(rota::at_most_ten_years(std::chrono::milliseconds::max()) == 87'600h);
    static_assert(rota::at_most_ten_years(5ms) == 5ms);
}

TEST_CASE("a body that takes too long is cancelled and timed_out is thrown") {
    rota::inline_scheduler scheduler;
    const auto start = scheduler.now();
    REQUIRE_THROWS_AS(scheduler.run_task(rota::with_timeout(1s, answer_after(1001ms))),
                      rota::timed_out);
    REQUIRE(scheduler.now() == start + 1s);
    REQUIRE(scheduler.home().timers().armed() == 0);
    REQUIRE(scheduler.routine_count() == 0);
}

TEST_CASE("the body is awaited to its end, and what it says then counts") {
    rota::inline_scheduler scheduler;
    bool ended = false;
    REQUIRE(scheduler.run_task(rota::with_timeout(1s, stubborn(&ended))) == 5);
    REQUIRE(ended);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::with_timeout(1s, fail_when_cancelled())),
                      std::runtime_error);
}

TEST_CASE("a stop from above is operation_cancelled, not a timeout") {
    rota::inline_scheduler scheduler;
    std::string what;
    constexpr auto body = [](std::string* out) -> rota::task<void> {
        try {
            rota::task<void> inner = rota::sleep_for(1h);
            co_await rota::with_timeout(1s, std::move(inner));
        } catch (const rota::timed_out&) {
            *out = "timed out";
        } catch (const rota::operation_cancelled&) {
            *out = "cancelled";
        }
    };
    const auto r = scheduler.spawn(body(&what));
    scheduler.run();
    r->request_stop();
    scheduler.run();
    REQUIRE(what == "cancelled");
    REQUIRE(scheduler.home().timers().armed() == 0);
}

TEST_CASE("the inner of two timeouts fires without ending the outer") {
    rota::inline_scheduler scheduler;
    constexpr auto body = []() -> rota::task<int> {
        int timeouts = 0;
        for (int i = 0; i < 3; ++i) {
            try {
                co_await rota::with_timeout(1s, rota::sleep_for(1h));
            } catch (const rota::timed_out&) {
                ++timeouts;
            }
        }
        co_return timeouts;
    };
    REQUIRE(scheduler.run_task(rota::with_timeout(1min, body())) == 3);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::with_timeout(2500ms, body())), rota::timed_out);
}

TEST_CASE("with_deadline in the past and without end") {
    rota::inline_scheduler scheduler;
    REQUIRE_THROWS_AS(
        scheduler.run_task(rota::with_deadline(scheduler.now() - 1s, answer_after(1ms))),
        rota::timed_out);
    const auto never = rota::time_source::time_point::max();
    REQUIRE(scheduler.run_task(rota::with_deadline(never, answer_after(1ms))).size() == 43);
}

TEST_CASE("timeouts, values and stops race on worker threads") {
    rota::runtime rt({.workers = 2});
    constexpr auto body = [](int i) -> rota::task<int> {
        const auto length = std::chrono::milliseconds(i % 3);
        try {
            co_await rota::with_timeout(1ms, rota::sleep_for(length));
            co_return 1;
        } catch (const rota::timed_out&) {
            co_return 2;
        }
    };
    int ended = 0;
    for (int i = 0; i < 300; ++i) {
        ended += rt.block_on(body(i)) != 0 ? 1 : 0;
    }
    REQUIRE(ended == 300);
}
