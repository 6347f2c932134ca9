#include "cases.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <rota/join.hpp>
#include <rota/runtime.hpp>
#include <rota/task_group.hpp>
#include <rota/yield.hpp>

namespace rota::bench {
namespace {

using std::chrono::nanoseconds;

task<std::uint64_t> successor(std::uint64_t value) { co_return value + 1; }

task<nanoseconds> await_children(std::uint64_t count) {
    std::uint64_t value = 0;
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        value = co_await successor(value);
    }
    keep(value);
    co_return clock::now() - begin;
}

task<void> nothing() { co_return; }

task<nanoseconds> spawn_and_join(std::uint64_t count) {
    routine& self = co_await current_routine;
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        routine_ptr child = self.owner().spawn(nothing(), {.on = &self.home()});
        co_await join(std::move(child));
    }
    co_return clock::now() - begin;
}

task<nanoseconds> run_groups(std::uint64_t count) {
    constexpr std::uint64_t group_size = 1000;
    task_group group(co_await current_context);
    const auto begin = clock::now();
    while (count != 0) {
        const std::uint64_t children = std::min(count, group_size);
        for (std::uint64_t i = 0; i < children; ++i) {
            group.spawn(nothing());
        }
        co_await group.join();
        count -= children;
    }
    co_return clock::now() - begin;
}

task<void> yield_often(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        co_await yield();
    }
}

/// Two routines that take turns: each yield resumes the other.
task<nanoseconds> yield_in_turn(std::uint64_t count) {
    routine& self = co_await current_routine;
    const auto begin = clock::now();
    routine_ptr other = self.owner().spawn(yield_often(count - count / 2), {.on = &self.home()});
    co_await yield_often(count / 2);
    co_await join(std::move(other));
    co_return clock::now() - begin;
}

} // namespace

void measure_routines(harness& h) {
    runtime rt({.workers = 1});
    h.time("await a nested task", [&](std::uint64_t n) { return rt.block_on(await_children(n)); });
    h.time("spawn and join a routine",
           [&](std::uint64_t n) { return rt.block_on(spawn_and_join(n)); });
    h.time("spawn and join a child, 1000 in a task_group",
           [&](std::uint64_t n) { return rt.block_on(run_groups(n)); });
    h.time("yield to another routine",
           [&](std::uint64_t n) { return rt.block_on(yield_in_turn(n)); });
}

} // namespace rota::bench
