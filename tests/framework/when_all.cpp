#include <rota/when_all.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>

using namespace std::chrono_literals;

namespace {

template <class T>
rota::task<T> give(T value, std::chrono::milliseconds after) {
    co_await rota::sleep_for(after);
    co_return std::move(value);
}

rota::task<void> note(std::string* log, std::chrono::milliseconds after, bool fail = false) {
    try {
        co_await rota::sleep_for(after);
    } catch (const rota::operation_cancelled&) {
        *log += "!";
        throw;
    }
    if (fail) {
        throw std::runtime_error("on purpose");
    }
    *log += ".";
}

rota::task<int> cancelled_by_itself() {
    throw rota::operation_cancelled();
    co_return 1;
}

} // namespace

TEST_CASE("values of several types come in the order of the tasks") {
    rota::inline_scheduler scheduler;
    const auto start = scheduler.now();
    std::string log;
    auto all = rota::when_all(give<std::string>("a string that has to be allocated", 30ms),
                              give<std::unique_ptr<int>>(std::make_unique<int>(2), 10ms),
                              note(&log, 20ms));
    const auto result = scheduler.run_task(std::move(all));
    REQUIRE(std::get<0>(result).starts_with("a string"));
    REQUIRE(*std::get<1>(result) == 2);
    REQUIRE(log == ".");
    REQUIRE(scheduler.now() == start + 30ms); // side by side
}

TEST_CASE("any number of tasks of one type") {
    rota::inline_scheduler scheduler;
    std::vector<rota::task<int>> tasks;
    for (int i = 0; i < 100; ++i) {
        tasks.push_back(give(i, std::chrono::milliseconds((i * 37) % 50)));
    }
    const std::vector<int> values = scheduler.run_task(rota::when_all(std::move(tasks)));
    for (int i = 0; i < 100; ++i) {
        REQUIRE(values[static_cast<std::size_t>(i)] == i);
    }
    REQUIRE(scheduler.run_task(rota::when_all(std::vector<rota::task<int>>())).empty());
    std::string log;
    std::vector<rota::task<void>> notes;
    notes.push_back(note(&log, 1ms));
    notes.push_back(note(&log, 1ms));
    scheduler.run_task(rota::when_all(std::move(notes)));
    REQUIRE(log == "..");
    (void)scheduler.run_task(rota::when_all());
}

TEST_CASE("the first error stops the others, which are awaited") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto start = scheduler.now();
    REQUIRE_THROWS_AS(
        scheduler.run_task(rota::when_all(note(&log, 1ms), note(&log, 5ms, true), note(&log, 1h))),
        std::runtime_error);
    REQUIRE(log == ".!");
    REQUIRE(scheduler.now() == start + 5ms);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::when_all(cancelled_by_itself(), give(1, 1ms))),
                      rota::operation_cancelled);
}

TEST_CASE("a stop of the parent stops all") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto parent = [](std::string* out) -> rota::task<void> {
        try {
            co_await rota::when_all(note(out, 1h), note(out, 1h));
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

TEST_CASE("when_all on worker threads") {
    rota::runtime rt({.workers = 2});
    for (int i = 0; i < 50; ++i) {
        const auto [a, b] = rt.block_on(rota::when_all(give(i, 1ms), give<std::string>("x", 0ms)));
        REQUIRE(a == i);
        REQUIRE(b == "x");
    }
}
