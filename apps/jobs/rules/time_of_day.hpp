#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "jobs/job_types.hpp"

namespace jobs {

/// Returns the distance from the machine's steady clock to the time of day, now.
[[nodiscard]] std::chrono::nanoseconds steady_to_wall();

/// The time of day, which stores work with, by the steady clock of its callers.
///
/// The distance between the two is looked up once a second, at a call: a machine whose time of day
/// was set, that was suspended, or whose clocks drift agrees with others that use the same store
/// soon, and a worker need not ask the kernel each time. Within that second time goes on evenly.
/// The clock may be another one now and then, as the simulator's beside the machine's.
///
/// Any thread. `look` is called from any, one at a time.
class time_of_day {
public:
    using clock = std::chrono::steady_clock;

    explicit time_of_day(std::function<std::chrono::nanoseconds()> look);

    /// Returns the time of day at that point, which is about now.
    [[nodiscard]] time_ms at(clock::time_point steady) const noexcept;
    /// Returns when it will be that time, as far as is known.
    [[nodiscard]] clock::time_point steady(time_ms when) const noexcept;

private:
    void look_again(clock::time_point steady) const noexcept;

    const std::function<std::chrono::nanoseconds()> look_;
    mutable std::atomic<std::int64_t> offset_ns_;
    mutable std::atomic<std::int64_t> looked_ns_; // by the clock of those that ask: when last
};

} // namespace jobs
