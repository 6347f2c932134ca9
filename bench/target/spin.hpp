// Work of a known size, for handlers: shared by rota-target and the C++ peers.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string_view>

namespace bench {

inline constexpr std::string_view spin_path = "/spin/";
inline constexpr unsigned spin_us_max = 10'000;

/// The microseconds in "20", if there is nothing else and not too many of them.
inline std::optional<unsigned> parse_spin(std::string_view text) {
    unsigned us = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
    if (error != std::errc() || end != text.data() + text.size() || us > spin_us_max)
        return std::nullopt;
    return us;
}

namespace detail {

/// CPU time of this thread. A system call, unlike the time of day.
inline std::int64_t thread_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline void turn(std::int64_t times) {
    std::uint64_t value = 1;
    for (; times > 0; --times) {
        value += value << 1U;
        asm volatile("" : "+r"(value)); // so that it is computed
    }
}

} // namespace detail

/// Keeps this thread busy for so much CPU time, within about 2 us. The clock is not read all the
/// time, as that is a system call, but half a dozen times: after a quarter of the time, which tells
/// how quick the core is just now (half as quick as before, if its twin has got work), then after
/// three quarters of what is left, and so on.
inline void spin(unsigned us) {
    constexpr std::int64_t told_by = 1000; // fewer seem slow: reading the clock takes hundreds
    constexpr double most = 8; // turns in a nanosecond, whatever a clock says that stood still
    thread_local double turns_per_ns = 0.5; // as measured last
    double share = 0.25;
    std::int64_t now = detail::thread_ns();
    const std::int64_t end = now + std::int64_t{us} * 1000;
    while (now < end) {
        const double turns = static_cast<double>(end - now) * share * turns_per_ns;
        const std::int64_t times = static_cast<std::int64_t>(turns) + 1;
        detail::turn(times);
        const std::int64_t later = detail::thread_ns();
        const auto took = static_cast<double>(std::max(std::int64_t{1}, later - now));
        const double seen = std::min(static_cast<double>(times) / took, most);
        if (times >= told_by || seen > turns_per_ns)
            turns_per_ns = seen;
        now = later;
        share = 0.75;
    }
}

} // namespace bench
