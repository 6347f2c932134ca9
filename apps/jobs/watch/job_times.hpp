#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "jobs/job_types.hpp"

namespace jobs {

/// Upper bounds of the buckets in which times of jobs are counted, in milliseconds; one more holds
/// the rest.
inline constexpr std::array<std::int64_t, 14> job_bounds_ms{
    5,      10,     50,      100,       500,       1'000,      5'000,
    10'000, 60'000, 300'000, 1'800'000, 3'600'000, 21'600'000, 86'400'000};

/// How often each time has been seen.
struct time_counts {
    std::array<std::uint64_t, job_bounds_ms.size() + 1> counts{};
    std::uint64_t sum_ms = 0;
};

/// How long jobs of a queue were queued, and how long in progress, as far as this process has taken
/// and settled them. Any thread.
class job_times {
public:
    struct seen {
        std::string queue{};
        time_counts queued{};
        time_counts in_progress{};
    };

    void add(const change& what) noexcept;
    [[nodiscard]] seen read(const std::string& queue) const;

private:
    class counts {
    public:
        void add(std::int64_t ms) noexcept;
        [[nodiscard]] time_counts read() const noexcept;

    private:
        std::array<std::atomic<std::uint64_t>, job_bounds_ms.size() + 1> counts_{};
        std::atomic<std::uint64_t> sum_ms_{0};
    };
    counts queued_;
    counts in_progress_;
};

} // namespace jobs
