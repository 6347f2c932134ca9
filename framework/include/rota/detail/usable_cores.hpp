#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

#include <sched.h>

namespace rota::detail {

/// Returns how many cores the calling thread may run on, as its process and `taskset` or a
/// container have it (man 2 sched_getaffinity); all that there are if there are more than a set
/// has room for. Any thread.
[[nodiscard]] inline std::size_t usable_cores() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
    return std::max(1U, std::thread::hardware_concurrency());
}

} // namespace rota::detail
