#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness.hpp"

namespace rota::bench {

/// Wakes a thread that sleeps on another core, `count` times, as rota-micro does: the medians times
/// `count` of how long `post` keeps its caller, and of how long it takes until the thread runs what
/// was posted. `post(f)` sees to it that the thread calls f(). Nobody can ask these threads whether
/// they sleep, so they are given time to.
struct wakings {
    std::chrono::nanoseconds cost;
    std::chrono::nanoseconds until_it_runs;
};

template <class Post>
wakings wake_often(std::uint64_t count, const Post& post) {
    std::vector<std::int64_t> costs;
    std::vector<std::int64_t> delays;
    std::atomic<std::int64_t> ran_at = 0;
    const auto now = [] { return clock::now().time_since_epoch().count(); };
    for (std::uint64_t i = 0; i < count; ++i) {
        ran_at.store(0, std::memory_order_relaxed);
        const auto asleep = clock::now() + std::chrono::microseconds(200);
        while (clock::now() < asleep) {
        }
        const std::int64_t begin = now();
        // Released to this thread, which reads it.
        post([&] { ran_at.store(now(), std::memory_order_release); });
        costs.push_back(now() - begin);
        while (ran_at.load(std::memory_order_acquire) == 0) {
        }
        delays.push_back(ran_at.load(std::memory_order_relaxed) - begin);
    }
    const auto median = [count](std::vector<std::int64_t>& each) {
        const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
        std::nth_element(each.begin(), middle, each.end());
        return std::chrono::nanoseconds(*middle * static_cast<std::int64_t>(count));
    };
    return {median(costs), median(delays)};
}

template <class Post>
void measure_wakings(harness& h, const Post& post) {
    h.time("wake a parked worker on another core: until it runs",
           [&](std::uint64_t n) { return wake_often(n, post).until_it_runs; });
    h.time("wake a parked worker on another core: cost to the one who wakes",
           [&](std::uint64_t n) { return wake_often(n, post).cost; });
}

} // namespace rota::bench
