#include <rota/inline_scheduler.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/sleep.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<void> note(std::string* log, char what, int times) {
    for (int i = 0; i < times; ++i) {
        log->push_back(what);
        co_await rota::yield();
    }
}

rota::task<int> answer_later() {
    co_await rota::sleep_for(3h);
    co_return 42;
}

rota::task<void> fail() {
    throw std::runtime_error("on purpose");
    co_return;
}

} // namespace

TEST_CASE("run_one resumes one routine and tells what it found") {
    rota::inline_scheduler scheduler;
    REQUIRE(scheduler.run_one() == rota::run_status::no_routines);

    std::string log;
    (void)scheduler.spawn(note(&log, 'a', 2));
    (void)scheduler.spawn(note(&log, 'b', 1));
    REQUIRE(log.empty());
    REQUIRE(scheduler.run_one() == rota::run_status::ran_one);
    REQUIRE(log == "a");
    REQUIRE(scheduler.run_one() == rota::run_status::ran_one);
    REQUIRE(scheduler.run_one() == rota::run_status::ran_one);
    REQUIRE(log == "aba");
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(scheduler.routine_count() == 0);
}

TEST_CASE("run stops when all are blocked, and the clock moves only when told") {
    rota::inline_scheduler scheduler;
    const auto start = scheduler.now();
    const auto r = scheduler.spawn(rota::sleep_for(10s), {.name = "sleeper"});
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    REQUIRE(scheduler.now() == start);
    REQUIRE(scheduler.blocked().size() == 1);
    REQUIRE(scheduler.blocked()[0].name == "sleeper");
    REQUIRE(scheduler.blocked()[0].what == "sleep");

    REQUIRE(scheduler.advance(9999ms) == rota::run_status::some_routines_blocked);
    REQUIRE(scheduler.advance(1ms) == rota::run_status::no_routines);
    REQUIRE(scheduler.now() == start + 10s);
    REQUIRE(r->state() == rota::routine_state::stopped);
}

TEST_CASE("advance stops at every timer on its way") {
    rota::inline_scheduler scheduler;
    std::vector<rota::time_source::time_point> woken;
    const auto start = scheduler.now();
    constexpr auto tick = [](rota::inline_scheduler* s,
                             std::vector<rota::time_source::time_point>* out) -> rota::task<void> {
        for (int i = 0; i < 3; ++i) {
            co_await rota::sleep_for(1s);
            out->push_back(s->now());
        }
    };
    (void)scheduler.spawn(tick(&scheduler, &woken));
    REQUIRE(scheduler.advance(1min) == rota::run_status::no_routines);
    REQUIRE(woken == std::vector{start + 1s, start + 2s, start + 3s});
    REQUIRE(scheduler.now() == start + 1min);
}

TEST_CASE("run_task returns the value, rethrows, and moves the clock when all are blocked") {
    rota::inline_scheduler scheduler;
    const auto start = scheduler.now();
    REQUIRE(scheduler.run_task(answer_later()) == 42);
    REQUIRE(scheduler.now() == start + 3h);
    REQUIRE_THROWS_AS(scheduler.run_task(fail()), std::runtime_error);
}

TEST_CASE("run_task says what blocks when nothing can go on") {
    rota::inline_scheduler scheduler;
    const auto never = rota::time_source::time_point::max();
    struct closed final : rota::blocker {
        bool is_blocked() const noexcept override { return true; }
    } door;
    REQUIRE_THROWS_AS(scheduler.run_task(scheduler.blocked_map().wait(door)), std::logic_error);
    REQUIRE(scheduler.routine_count() == 0);
    (void)never;
}

TEST_CASE("the destructor stops what is left") {
    bool cancelled = false;
    constexpr auto wait = [](bool* out) -> rota::task<void> {
        try {
            co_await rota::sleep_until(rota::time_source::time_point::max());
        } catch (const rota::operation_cancelled&) {
            *out = true;
        }
    };
    {
        rota::inline_scheduler scheduler;
        (void)scheduler.spawn(wait(&cancelled));
        scheduler.run();
    }
    REQUIRE(cancelled);
}

TEST_CASE("an exception in a routine goes to the error handler with its name") {
    std::string name;
    rota::inline_scheduler scheduler(
        [&name](const rota::routine& r, const std::exception_ptr&) { name = r.name(); });
    const auto r = scheduler.spawn(fail(), {.name = "doomed"});
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(name == "doomed");
    REQUIRE(r->error() != nullptr);
}

TEST_CASE("the clock may move for ever: it stays at the last timer that fires") {
    constexpr auto ever = std::chrono::hours::max();
    rota::inline_scheduler scheduler;
    const auto start = scheduler.now();
    const auto sleeper = scheduler.spawn(rota::sleep_for(ever), {.name = "sleeper"});
    const auto other = scheduler.spawn(rota::sleep_for(3h));
    REQUIRE(scheduler.advance(ever) == rota::run_status::some_routines_blocked);
    REQUIRE(other->state() == rota::routine_state::stopped);
    REQUIRE(scheduler.now() == start + 3h);
    REQUIRE_FALSE(scheduler.advance_to_next_timer());
    REQUIRE_THROWS_AS(scheduler.run_task(rota::sleep_for(ever)), std::logic_error);
    REQUIRE(sleeper->state() == rota::routine_state::blocked);
}
