// What a runtime is like after threads could not be had.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <rota/runtime.hpp>
#include <rota/stall_watch.hpp>
#include <rota/yield.hpp>

namespace {

/// How many threads this one may still start; below zero: as many as it likes.
thread_local int threads_left = -1;

struct few_threads {
    explicit few_threads(int count) { threads_left = count; }
    ~few_threads() { threads_left = -1; }
};

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

/// A sanitizer's that is linked into the program, which has to know of each thread.
extern "C" [[gnu::weak]] int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*,
                                                          void* (*)(void*), void*);

/// In the place of the C library's, for this program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) {
    static const auto real =
        __interceptor_pthread_create != nullptr
            ? __interceptor_pthread_create
            : reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (threads_left == 0)
        return EAGAIN;
    if (threads_left > 0)
        --threads_left;
    return real(thread, attributes, body, argument);
}

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
