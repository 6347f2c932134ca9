#include <rota/join.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

#include "death.hpp"

using namespace std::chrono_literals;

namespace {

rota::task<void> fail_later() {
    co_await rota::yield();
    throw std::runtime_error("on purpose");
}

rota::task<void> join_and_note(rota::routine_ptr target, std::string* log) {
    try {
        co_await rota::join(target);
        log->push_back('j');
    } catch (const std::runtime_error&) {
        log->push_back('e');
    } catch (const rota::operation_cancelled&) {
        log->push_back('c');
    }
}

} // namespace

TEST_CASE("join waits for the end, for every joiner, before and after it") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto target = scheduler.spawn(rota::sleep_for(1s));
    (void)scheduler.spawn(join_and_note(target, &log));
    (void)scheduler.spawn(join_and_note(target, &log));
    scheduler.run();
    REQUIRE(log.empty());
    REQUIRE(scheduler.advance(1s) == rota::run_status::no_routines);
    REQUIRE(log == "jj");
    scheduler.run_task(join_and_note(target, &log));
    REQUIRE(log == "jjj");
}

TEST_CASE("join rethrows the error of the routine to everyone, but not its cancellation") {
    rota::inline_scheduler scheduler([](const rota::routine&, const std::exception_ptr&) {});
    std::string log;
    const auto failing = scheduler.spawn(fail_later());
    (void)scheduler.spawn(join_and_note(failing, &log));
    (void)scheduler.spawn(join_and_note(failing, &log));
    scheduler.run();
    REQUIRE(log == "ee");

    const auto cancelled = scheduler.spawn(rota::sleep_for(1h));
    cancelled->request_stop();
    scheduler.run_task(join_and_note(cancelled, &log));
    REQUIRE(log == "eej");
}

TEST_CASE("a joiner that is stopped leaves the routine alone") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto target = scheduler.spawn(rota::sleep_for(1s));
    const auto joiner = scheduler.spawn(join_and_note(target, &log));
    scheduler.run();
    joiner->request_stop();
    scheduler.run();
    REQUIRE(log == "c");
    REQUIRE(target->state() == rota::routine_state::blocked);
}

TEST_CASE("joining oneself is refused") {
    rota::inline_scheduler scheduler;
    constexpr auto body = []() -> rota::task<void> {
        rota::routine& self = co_await rota::current_routine;
        co_await rota::join(rota::routine_ptr(self));
    };
    REQUIRE_THROWS_AS(scheduler.run_task(body()), std::system_error);
}

TEST_CASE("joins across worker threads") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    constexpr auto child = [](std::atomic<int>* count) -> rota::task<void> {
        co_await rota::yield();
        ++*count;
    };
    constexpr auto parent = [](rota::runtime* r, std::atomic<int>* count,
                               auto make) -> rota::task<void> {
        std::vector<rota::routine_ptr> children;
        for (int i = 0; i < 100; ++i) {
            children.push_back(r->spawn(make(count)));
        }
        for (const rota::routine_ptr& c : children) {
            co_await rota::join(c);
        }
    };
    std::atomic<int> count = 0;
    for (int round = 0; round < 20; ++round) {
        rt.block_on(parent(&rt, &count, child));
        REQUIRE(count == 100 * (round + 1));
    }
}

TEST_CASE("to join no routine ends the program with words") {
    CHECK(last_words([] {
              static_cast<void>(rota::join(rota::routine_ptr()));
          }).find("join() is for a routine") != std::string::npos);
}
