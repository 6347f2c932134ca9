#include "cases.hpp"

#include <chrono>
#include <cstdint>
#include <deque>

#include <rota/detail/timer_wheel.hpp>
#include <rota/runtime.hpp>
#include <rota/with_timeout.hpp>

namespace rota::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

void ignore(timer&) noexcept {}

/// Arms and disarms one timer beside 10,000 others that stay armed.
nanoseconds arm_and_disarm(std::uint64_t count) {
    const auto start = timer_wheel::time_point{};
    timer_wheel wheel(start);
    std::deque<timer> others; // a timer does not move
    for (int i = 0; i < 10'000; ++i) {
        wheel.arm(others.emplace_back(&ignore), start + milliseconds(1 + i * 7));
    }
    timer mine(&ignore);
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        wheel.arm(mine, start + milliseconds(1 + i % 60'000));
        keep(mine);
        wheel.disarm(mine);
    }
    const nanoseconds spent = clock::now() - begin;
    for (timer& other : others) {
        wheel.disarm(other);
    }
    return spent;
}

task<std::uint64_t> one_more(std::uint64_t value) { co_return value + 1; }

task<nanoseconds> limit_often(std::uint64_t count) {
    std::uint64_t value = 0;
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        task<std::uint64_t> body = one_more(value);
        value = co_await with_timeout(std::chrono::seconds(30), std::move(body));
    }
    keep(value);
    co_return clock::now() - begin;
}

} // namespace

void measure_timers(harness& h) {
    h.time("arm and disarm a timer beside 10,000 others", arm_and_disarm);
    runtime rt({.workers = 1});
    h.time("await a nested task within with_timeout",
           [&](std::uint64_t n) { return rt.block_on(limit_often(n)); });
}

} // namespace rota::bench
