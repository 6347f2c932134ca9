#include <rota/sleep_awaiter.hpp>

#include <chrono>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

using namespace std::chrono_literals;

TEST_CASE("a coroutine waits for a timer in a variable of its own") {
    rota::inline_scheduler scheduler;
    const auto start = scheduler.now();
    scheduler.run_task([&]() -> rota::task<void> {
        rota::sleep_awaiter wait(start + 5ms);
        co_await wait;
    });
    REQUIRE(scheduler.now() == start + 5ms);
    const rota::routine_ptr r = scheduler.spawn([&]() -> rota::task<void> {
        rota::sleep_awaiter wait(start + 1h);
        co_await wait;
    });
    scheduler.run();
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(scheduler.home().timers().armed() == 0);
}
