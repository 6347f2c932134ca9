#include "job_times.hpp"

#include <algorithm>

namespace jobs {

void job_times::counts::add(std::int64_t ms) noexcept {
    const auto bucket = std::ranges::lower_bound(job_bounds_ms, ms) - job_bounds_ms.begin();
    counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_ms_.fetch_add(static_cast<std::uint64_t>(ms), std::memory_order_relaxed);
}

time_counts job_times::counts::read() const noexcept {
    time_counts now;
    for (std::size_t i = 0; i < now.counts.size(); ++i)
        now.counts[i] = counts_[i].load(std::memory_order_relaxed);
    now.sum_ms = sum_ms_.load(std::memory_order_relaxed);
    return now;
}

void job_times::add(const change& what) noexcept {
    if (what.spent_ms < 0)
        return;
    (what.kind == change_kind::taken ? queued_ : in_progress_).add(what.spent_ms);
}

job_times::seen job_times::read(const std::string& queue) const {
    return {queue, queued_.read(), in_progress_.read()};
}

} // namespace jobs
