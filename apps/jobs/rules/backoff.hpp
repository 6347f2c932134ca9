#pragma once

#include <cstdint>

#include "jobs/job_types.hpp"

namespace jobs {

/// What a queue that is not set to anything else does with jobs that fail: the first two times they
/// are there again at once, then they wait 100 ms, 200 ms, 400 ms ..., 10 minutes at most.
struct backoff_defaults {
    static constexpr std::uint32_t after = 2;
    static constexpr std::int64_t initial_ms = 100;
    static constexpr std::uint32_t factor_milli = 2'000;
    static constexpr std::int64_t max_ms = 600'000;
};

/// How long a job waits that has failed `failures` times in a row: 0 up to the `after`th, then
/// `initial_ms` times `factor` for each one more, `max_ms` at most; of that all, or down to half of
/// it, as `seed` has it, so that what failed at the same moment does not come back at the same
/// moment. The same for the same arguments, on every machine.
[[nodiscard]] std::int64_t backoff_ms(const backoff_settings& as, std::uint32_t failures,
                                      std::uint64_t seed) noexcept;

} // namespace jobs
