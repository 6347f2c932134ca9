#include <rota/when_any.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>

using namespace std::chrono_literals;

namespace {

template <class T>
rota::task<T> give(T value, std::chrono::milliseconds after, std::string* log) {
    try {
        co_await rota::sleep_for(after);
    } catch (const rota::operation_cancelled&) {
        *log += "!";
        throw;
    }
    *log += ".";
    co_return std::move(value);
}

rota::task<int> fail(std::chrono::milliseconds after) {
    co_await rota::sleep_for(after);
    throw std::runtime_error("on purpose");
}

rota::task<int> pop_one(rota::channel<int>* c) {
    const std::optional<int> value = co_await c->pop();
    co_return value.value_or(-1);
}

rota::task<int> give_up() {
    throw rota::operation_cancelled();
    co_return 0;
}

} // namespace

TEST_CASE("the first value wins, the others are cancelled and awaited") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto start = scheduler.now();
    auto race = rota::when_any(give(1, 1h, &log),
                               give<std::string>("a winner that has to be allocated", 5ms, &log),
                               give(std::make_unique<int>(3), 2h, &log));
    const auto result = scheduler.run_task(std::move(race));
    REQUIRE(result.index() == 1);
    REQUIRE(std::get<1>(result).starts_with("a winner"));
    REQUIRE(log == ".!!");
    REQUIRE(scheduler.now() == start + 5ms);
    REQUIRE(scheduler.routine_count() == 0);
}

TEST_CASE("tasks of one type and without values; which one is told by the index") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto same = scheduler.run_task(rota::when_any(give(1, 1h, &log), give(2, 1ms, &log)));
    REQUIRE(same.index() == 1);
    REQUIRE(std::get<1>(same) == 2);
    const auto none =
        scheduler.run_task(rota::when_any(rota::sleep_for(1ms), rota::sleep_for(2ms)));
    REQUIRE(none.index() == 0);

    std::vector<rota::task<int>> many;
    for (int i = 0; i < 20; ++i) {
        many.push_back(give(i, std::chrono::milliseconds(100 - i), &log));
    }
    const auto first = scheduler.run_task(rota::when_any(std::move(many)));
    REQUIRE(first.index == 19);
    REQUIRE(first.value == 19);
    std::vector<rota::task<void>> sleepers;
    sleepers.push_back(rota::sleep_for(2s));
    sleepers.push_back(rota::sleep_for(1s));
    REQUIRE(scheduler.run_task(rota::when_any(std::move(sleepers))).index == 1);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::when_any(std::vector<rota::task<int>>())),
                      std::invalid_argument);
}

TEST_CASE("if the first to end failed, its error comes out") {
    rota::inline_scheduler scheduler;
    std::string log;
    REQUIRE_THROWS_AS(scheduler.run_task(rota::when_any(fail(1ms), give(1, 1h, &log))),
                      std::runtime_error);
    REQUIRE(log == "!");
    log.clear();
    const auto result = scheduler.run_task(rota::when_any(fail(1h), give(1, 1ms, &log)));
    REQUIRE(result.index() == 1);
}

TEST_CASE("a child that is cancelled of its own accord leaves the race to the others") {
    rota::inline_scheduler scheduler;
    std::string log;
    REQUIRE(scheduler.run_task(rota::when_any(give_up(), give(1, 1ms, &log))).index() == 1);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::when_any(give_up(), give_up())),
                      rota::operation_cancelled);
}

TEST_CASE("a loser that is cancelled has taken nothing from its channel") {
    rota::inline_scheduler scheduler;
    rota::channel<int> a(1);
    rota::channel<int> b(1);
    constexpr auto parent = [](rota::channel<int>* x, rota::channel<int>* y) -> rota::task<int> {
        const auto result = co_await rota::when_any(pop_one(x), pop_one(y));
        co_return static_cast<int>(result.index());
    };
    const auto r = scheduler.spawn([](auto make, auto* x, auto* y) -> rota::task<void> {
        (void)co_await make(x, y);
    }(parent, &a, &b));
    scheduler.run();
    REQUIRE(b.try_push(1));
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(a.try_push(2));
    REQUIRE(a.try_pop() == 2);
}

TEST_CASE("a stop of the parent ends the race") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto parent = [](std::string* out) -> rota::task<void> {
        try {
            co_await rota::when_any(give(1, 1h, out), give(2, 1h, out));
        } catch (const rota::operation_cancelled&) {
            *out += "c";
        }
    };
    const auto r = scheduler.spawn(parent(&log));
    scheduler.run();
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "!!c");
}

TEST_CASE("races on worker threads") {
    rota::runtime rt({.workers = 2});
    std::string log;
    for (int i = 0; i < 100; ++i) {
        const auto result = rt.block_on(rota::when_any(rota::sleep_for(1ms), rota::sleep_for(1h)));
        REQUIRE(result.index() == 0);
    }
}
