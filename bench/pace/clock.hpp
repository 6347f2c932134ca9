// Time as everything here counts it: nanoseconds of the monotonic clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace pace {

using nanoseconds = std::int64_t;

inline constexpr nanoseconds second = 1'000'000'000;

inline nanoseconds read_clock(clockid_t which) {
    timespec time{};
    ::clock_gettime(which, &time);
    return time.tv_sec * second + time.tv_nsec;
}

inline nanoseconds now() { return read_clock(CLOCK_MONOTONIC); }

} // namespace pace
