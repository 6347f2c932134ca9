// Work of a known size, for handlers: shared by rota-target and the C++ peers.
#pragma once

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

/// How often to turn for a nanosecond, measured once.
inline double turns_per_ns() {
    static const double measured = [] {
        constexpr std::int64_t times = 1'000'000;
        const std::int64_t begin = thread_ns();
        turn(times);
        return static_cast<double>(times) / static_cast<double>(thread_ns() - begin);
    }();
    return measured;
}

} // namespace detail

/// Keeps this thread busy for so much CPU time. Three quarters of what is left at a time, so that a
/// core which has become quicker or slower since it was measured makes no difference, and the clock
/// is read half a dozen times instead of all the time.
inline void spin(unsigned us) {
    const std::int64_t end = detail::thread_ns() + std::int64_t{us} * 1000;
    const double per_ns = detail::turns_per_ns();
    for (;;) {
        const std::int64_t left = end - detail::thread_ns();
        if (left <= 0)
            return;
        detail::turn(static_cast<std::int64_t>(static_cast<double>(left) * 0.75 * per_ns));
    }
}

} // namespace bench
