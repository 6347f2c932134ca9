#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <rota/io/shared_file.hpp>

namespace rota::http {

// Before Linux 6.13, and on some file systems since, the time of a change is that of a tick of the
// kernel's clock, of which there are 100 a second or more. What is written behind another write, in
// the same tick, may show in none of the facts. Nor does how far a write has got: it sets the times
// when it begins, and a large one may go on for long.

using file_time = std::chrono::sys_time<std::chrono::nanoseconds>;

/// How long it takes until facts that were read from `began` to `ended` would tell of any write
/// behind them; nothing if they do. A time that is still to come, by a clock that has been set, is
/// none that a write would get.
[[nodiscard]] inline std::optional<std::chrono::nanoseconds>
time_to_settle(const io::file_facts& facts, file_time began, file_time ended) noexcept {
    using std::chrono::milliseconds;
    constexpr std::uint64_t mib = 1 << 20;
    constexpr std::uint64_t mibs_max = 5'000'000; // for hours
    const auto mibs = static_cast<std::int64_t>(std::min(facts.size / mib, mibs_max));
    // Two ticks, and a write of all of it that copies 500 MiB a second.
    const std::chrono::nanoseconds young = milliseconds(20) + mibs * milliseconds(2);
    std::optional<std::chrono::nanoseconds> left;
    for (const std::int64_t ns : {facts.modified_ns, facts.changed_ns}) {
        const file_time at{std::chrono::nanoseconds(ns)};
        if (at <= ended && at > began - young) {
            const auto rest = std::max(at + young - ended, std::chrono::nanoseconds(0));
            left = std::max(left.value_or(rest), rest);
        }
    }
    return left;
}

/// Reads facts anew until they tell of any write behind them. False if they do not after three
/// waits, when it is always being written to, or if that would take too long.
template <class Read, class Now, class Wait>
[[nodiscard]] bool read_settled(io::file_facts& into, Read read, Now now, Wait wait) {
    constexpr std::chrono::milliseconds wait_max(100);
    for (int waits_left = 3;; --waits_left) {
        const file_time began = now();
        into = read();
        const auto left = time_to_settle(into, began, now());
        if (!left || *left > wait_max || waits_left == 0)
            return !left;
        wait(*left);
    }
}

} // namespace rota::http
