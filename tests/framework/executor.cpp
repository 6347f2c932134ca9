#include <rota/executor.hpp>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<void> fail(std::string what) {
    co_await rota::yield();
    throw std::runtime_error(what);
}

rota::task<void> fail_oddly() {
    throw 42;
    co_return;
}

rota::task<void> give_up() {
    throw rota::operation_cancelled();
    co_return;
}

} // namespace

TEST_CASE("spawn goes where it is told, or where the scheduler says") {
    rota::runtime rt({.workers = 3});
    for (std::size_t i = 0; i < 3; ++i) {
        const auto r = rt.spawn(rota::sleep_for(0s), {.on = rt.worker_at(i)});
        REQUIRE(r->home().index() == i);
        REQUIRE(rt.worker_at(i)->routines() == 1);
    }
    rota::assignment place = rt.assign();
    rota::worker& w = place.get();
    const std::size_t before = w.places();
    const std::size_t routines = w.routines();
    const auto r = rt.spawn(rota::sleep_for(0s), std::move(place));
    REQUIRE(&r->home() == &w);
    REQUIRE(w.places() == before);
    REQUIRE(w.routines() == routines + 1); // a place alone is no routine
    { const rota::assignment unused = rt.assign(); }
    rt.join();
    rt.stop(); // a place that was given back holds nothing up
    for (const auto& s : rt.workers()) {
        REQUIRE(s.routines == 0);
    }
}

TEST_CASE("errors are reported with the routine, cancellations are not, nor what is not wanted") {
    std::vector<std::string> reported;
    rota::inline_scheduler scheduler([&](const rota::routine& r, const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            reported.push_back(r.name() + ": " + e.what());
        }
    });
    (void)scheduler.spawn(fail("one"), {.name = "a"});
    (void)scheduler.spawn(give_up(), {.name = "b"});
    const auto quiet = scheduler.spawn(fail("two"), {.name = "c", .report_errors = false});
    scheduler.run();
    REQUIRE(reported == std::vector<std::string>{"a: one"});
    REQUIRE(quiet->error() != nullptr);
}

TEST_CASE("an error handler that throws, and the handler by default, harm nobody") {
    rota::inline_scheduler throwing(
        [](const rota::routine&, const std::exception_ptr& e) { std::rethrow_exception(e); });
    (void)throwing.spawn(fail("on purpose: the error handler throws"), {.name = "test"});
    REQUIRE(throwing.run() == rota::run_status::no_routines);
    rota::inline_scheduler standard;
    (void)standard.spawn(fail("on purpose"), {.name = "test"});
    (void)standard.spawn(fail_oddly(), {.name = "test"});
    REQUIRE(standard.run() == rota::run_status::no_routines);
}

TEST_CASE("the registry counts, lists, and asks all to stop, those who come later too") {
    rota::inline_scheduler scheduler;
    (void)scheduler.spawn(rota::sleep_for(1h), {.name = "a"});
    (void)scheduler.spawn(rota::sleep_for(1h), {.name = "b"});
    REQUIRE(scheduler.routine_count() == 2);
    REQUIRE(scheduler.blocked().empty());
    scheduler.run();
    std::vector<std::string> names;
    for (const auto& b : scheduler.blocked()) {
        names.push_back(b.name);
    }
    std::sort(names.begin(), names.end());
    REQUIRE(names == std::vector<std::string>{"a", "b"});
    REQUIRE_FALSE(scheduler.registry().wait_empty_for(1ms));
    scheduler.registry().request_stop_all();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    const auto late = scheduler.spawn(rota::sleep_for(1h));
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(late->state() == rota::routine_state::stopped);
    REQUIRE(scheduler.registry().wait_empty_for(1ms));
    scheduler.registry().wait_empty();
}

TEST_CASE("routines are spawned from many threads and from routines") {
    rota::runtime rt({.workers = 2});
    rt.start();
    std::atomic<int> ran = 0;
    constexpr auto leaf = [](std::atomic<int>* n) -> rota::task<void> {
        ++*n;
        co_return;
    };
    constexpr auto branch = [](rota::runtime* r, std::atomic<int>* n,
                               auto make) -> rota::task<void> {
        for (int i = 0; i < 10; ++i) {
            (void)r->spawn(make(n));
            co_await rota::yield();
        }
    };
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) {
                (void)rt.spawn(branch(&rt, &ran, leaf));
            }
        });
    }
    threads.clear();
    rt.join();
    REQUIRE(ran == 3000);
    REQUIRE(rt.routine_count() == 0);
}
