#include "cases.hpp"

#include <chrono>
#include <cstdint>

#include <rota/mutex.hpp>
#include <rota/runtime.hpp>
#include <rota/yield.hpp>

#include "cores.hpp"

namespace rota::bench {
namespace {

using std::chrono::nanoseconds;

struct guarded {
    mutex lock;
    std::uint64_t value = 0;
};

task<nanoseconds> lock_often(std::uint64_t count) {
    mutex m;
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        const mutex::guard held = co_await m.lock();
        keep(held);
    }
    co_return clock::now() - begin;
}

task<void> hold_and_yield(guarded* g, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const mutex::guard held = co_await g->lock.lock();
        ++g->value;
        co_await yield();
    }
}

task<void> add_often(guarded* g, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const mutex::guard held = co_await g->lock.lock();
        ++g->value;
    }
}

/// Two routines with the same `body`, one on the first worker and one on the last.
nanoseconds contend(runtime& rt, task<void> (*body)(guarded*, std::uint64_t), std::uint64_t count) {
    guarded g;
    const auto begin = clock::now();
    const routine_ptr one = rt.spawn(body(&g, count - count / 2), {.on = rt.worker_at(0)});
    const routine_ptr other =
        rt.spawn(body(&g, count / 2), {.on = rt.worker_at(rt.worker_count() - 1)});
    one->wait_stopped();
    other->wait_stopped();
    const nanoseconds spent = clock::now() - begin;
    keep(g.value);
    return spent;
}

} // namespace

void measure_mutexes(harness& h) {
    {
        runtime rt({.workers = 1});
        rt.start();
        h.time("lock and unlock an uncontended mutex",
               [&](std::uint64_t n) { return rt.block_on(lock_often(n)); });
        h.time("lock a mutex, yield and unlock it, two routines on a worker",
               [&](std::uint64_t n) { return contend(rt, hold_and_yield, n); });
    }
    const std::vector<unsigned> cores = usable_cores();
    if (cores.size() < 2) {
        return;
    }
    runtime rt({.workers = 2});
    rt.start();
    pin_worker(rt, 0, cores[0]);
    pin_worker(rt, 1, cores[1]);
    h.time("lock and unlock a mutex, two workers contend",
           [&](std::uint64_t n) { return contend(rt, add_often, n); });
}

} // namespace rota::bench
