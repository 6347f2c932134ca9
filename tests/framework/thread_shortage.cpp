// What a runtime is like after threads could not be had.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sched.h>

#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/stall_watch.hpp>
#include <rota/yield.hpp>

#include "limited_threads.hpp"

using test::few_threads;

namespace {

rota::task<void> count_up(std::atomic<int>* n) {
    co_await rota::yield();
    ++*n;
}

/// Does not let go of its worker until the watch tells of it.
rota::task<void> hold_until_told_of(const std::atomic<int>* stalls) {
    while (*stalls == 0)
        sched_yield();
    co_return;
}

/// Runs something on each worker, so that none lacks its thread.
void run_on_all(rota::runtime& rt) {
    std::atomic<int> n = 0;
    int spawned = 0;
    for (const rota::worker_status& w : rt.workers()) {
        if (w.draining)
            continue;
        (void)rt.spawn(count_up(&n), {.on = rt.worker_at(w.index)});
        ++spawned;
    }
    rt.join();
    REQUIRE(spawned == static_cast<int>(rt.worker_count()));
    REQUIRE(n == spawned);
}

} // namespace

TEST_CASE("a runtime that could not start all threads has started none, and can be started later") {
    rota::runtime rt({.workers = 4});
    std::atomic<int> n = 0;
    for (int i = 0; i < 8; ++i)
        (void)rt.spawn(count_up(&n));
    for (int few = 0; few < 5; ++few) { // the first is the watch's, unless it is there
        const few_threads shortage(few < 4 ? few : 3);
        REQUIRE_THROWS_AS(rt.start(), std::system_error);
        REQUIRE(n == 0);
    }
    rt.start();
    rt.join();
    REQUIRE(n == 8);
    run_on_all(rt);
}

TEST_CASE("workers whose threads cannot be had are not there, nor later without one") {
    for (int few = 0; few < 3; ++few) {
        rota::runtime rt({.workers = 1});
        rt.start();
        for (int again = 0; again < 3; ++again) {
            const few_threads shortage(few);
            REQUIRE_THROWS_AS(rt.set_workers(4), std::system_error);
            REQUIRE(rt.worker_count() == 1);
            REQUIRE(rt.workers().size() == 1);
        }
        run_on_all(rt);
        rt.set_workers(4);
        REQUIRE(rt.worker_count() == 4);
        run_on_all(rt);
        rt.set_workers(1);
        run_on_all(rt);
    }
}

TEST_CASE("workers that have ended are not back without their threads") {
    rota::runtime rt({.workers = 4});
    rt.start();
    rt.set_workers(1);
    while (rt.workers().size() != 1)
        sched_yield();
    {
        const few_threads shortage(2);
        REQUIRE_THROWS_AS(rt.set_workers(4), std::system_error);
    }
    REQUIRE(rt.worker_count() == 1);
    REQUIRE_THROWS_AS(rt.spawn(rota::task<void>([]() -> rota::task<void> { co_return; }()),
                               {.on = rt.worker_at(2)}),
                      std::logic_error);
    run_on_all(rt);
    rt.set_workers(4);
    run_on_all(rt);
}

TEST_CASE("a worker that its observer refuses is not there, and the watch does not look at it") {
    std::atomic<int> stalls = 0;
    std::atomic<int> ends = 0;
    rota::runtime rt({.workers = 1,
                      .stall_limit = std::chrono::milliseconds(20),
                      .on_stall = [&](const rota::stall_report& r) {
                          if (r.routine.name == "holder")
                              ++(r.ended ? ends : stalls);
                      }});
    int refused = 0;
    rt.on_worker_added([&](rota::worker& w) {
        if (w.index() == 2 && refused++ < 20)
            throw std::runtime_error("no room");
    });
    rt.start();
    for (int i = 0; i < 20; ++i) {
        REQUIRE_THROWS_AS(rt.set_workers(4), std::runtime_error);
        REQUIRE(rt.worker_count() == 1);
        run_on_all(rt); // the watch is awake, and looks at all that it knows
    }
    rt.set_workers(4);
    run_on_all(rt);
    // It tells once of each: those that were refused have mostly been where those are now.
    for (std::size_t i = 1; i < 4; ++i) {
        stalls = ends = 0;
        (void)rt.spawn(hold_until_told_of(&stalls), {.name = "holder", .on = rt.worker_at(i)});
        rt.join();
        while (ends == 0)
            sched_yield();
        REQUIRE(stalls == 1);
    }
}

TEST_CASE("what has been spawned comes to its end, though no thread is to be had for it") {
    const few_threads shortage(0);
    std::vector<rota::routine_ptr> spawned;
    std::atomic<int> done = 0;
    constexpr auto goes_on = [](std::atomic<int>* n) -> rota::task<void> {
        try {
            co_await rota::sleep_for(std::chrono::hours(1));
        } catch (const rota::operation_cancelled&) {
        }
        ++*n;
    };
    for (const bool stops : {true, false}) {
        rota::runtime rt({.workers = 2});
        for (int i = 0; i < 4; ++i) {
            spawned.push_back(rt.spawn(count_up(&done)));
            spawned.push_back(rt.spawn(goes_on(&done)));
        }
        REQUIRE_THROWS_AS(rt.start(), std::system_error);
        if (stops)
            rt.stop();
    }
    for (const rota::routine_ptr& r : spawned)
        REQUIRE(r->state() == rota::routine_state::stopped);
    REQUIRE(done >= 8);
}
