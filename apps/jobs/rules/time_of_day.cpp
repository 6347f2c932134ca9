#include "time_of_day.hpp"

#include <cstdlib>
#include <utility>

namespace jobs {
namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t between_looks_ns = 1'000'000'000;
/// Two clocks are read one after the other. What such a look can be wrong by is no correction, or
/// time would go back and forth, and leases end early by it.
constexpr std::int64_t noise_ns = 2'000'000;
constexpr int looks_max = 4;

} // namespace

nanoseconds steady_to_wall() {
    using clock = std::chrono::steady_clock;
    nanoseconds best{};
    nanoseconds best_took = nanoseconds::max();
    for (int i = 0; i < looks_max && best_took.count() > noise_ns / 2; ++i) {
        const nanoseconds before = clock::now().time_since_epoch();
        const nanoseconds wall = std::chrono::system_clock::now().time_since_epoch();
        const nanoseconds took = clock::now().time_since_epoch() - before;
        if (took < best_took) { // else the thread had to wait in between
            best = wall - (before + took / 2);
            best_took = took;
        }
    }
    return best;
}

time_of_day::time_of_day(std::function<nanoseconds()> look)
    : look_(std::move(look)), offset_ns_(look_().count()), looked_ns_(INT64_MIN / 2) {}

time_ms time_of_day::at(clock::time_point steady) const noexcept {
    const nanoseconds since = steady.time_since_epoch();
    const std::int64_t looked = looked_ns_.load(std::memory_order_relaxed);
    if (std::abs(since.count() - looked) >= between_looks_ns)
        look_again(steady);
    const nanoseconds wall = since + nanoseconds(offset_ns_.load(std::memory_order_relaxed));
    return std::chrono::floor<std::chrono::milliseconds>(wall).count();
}

void time_of_day::look_again(clock::time_point steady) const noexcept {
    std::int64_t looked = looked_ns_.load(std::memory_order_relaxed);
    const std::int64_t now = steady.time_since_epoch().count();
    if (std::abs(now - looked) < between_looks_ns ||
        !looked_ns_.compare_exchange_strong(looked, now))
        return; // another does it
    const std::int64_t found = look_().count();
    if (std::abs(found - offset_ns_.load(std::memory_order_relaxed)) > noise_ns)
        offset_ns_.store(found, std::memory_order_relaxed);
}

time_of_day::clock::time_point time_of_day::steady(time_ms when) const noexcept {
    const nanoseconds offset(offset_ns_.load(std::memory_order_relaxed));
    return clock::time_point(std::chrono::milliseconds(when) - offset);
}

} // namespace jobs
