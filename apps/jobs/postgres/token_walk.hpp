#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "jobs/job_types.hpp"

namespace jobs {

/// Finds which tokens are beyond how many there may be, the oldest of them, though nobody knows how
/// many there are: walks them from the one that ends last, a slice at a time. While a walk goes on
/// a tenth of what there may be is added at most, so no more than a fifth too many are kept; what
/// each slice reads does not depend on how many there are. Tokens that end in the same millisecond
/// as the last of a slice may not be counted, so rather too many are kept than too few.
///
/// next(), read what it says, seen(); delete up to some of what ends by beyond(), trimmed(). Any
/// thread; two may be at it at once.
class token_walk {
public:
    static constexpr std::uint64_t slice_rows = 10'000;
    static constexpr std::uint64_t trim_rows = 20'000; // far more than come meanwhile

    /// Tokens to be looked at: so many that end before a time, the last first.
    struct slice {
        time_ms before = never;
        std::uint64_t rows = 0;
    };

    explicit token_walk(std::size_t tokens_max) noexcept : max_(tokens_max) {}

    /// So many have been added. What is to be looked at now, if it is time for that.
    [[nodiscard]] std::optional<slice> next(std::size_t added);
    /// What was there of a slice: so many, the first of which ends at `earliest`.
    void seen(const slice& what, std::uint64_t rows, time_ms earliest);
    /// What ends by this is beyond; 0 if nothing is known to be.
    [[nodiscard]] time_ms beyond() const;
    /// So many that end by `until` have been deleted.
    void trimmed(time_ms until, std::uint64_t rows);

private:
    const std::uint64_t max_;
    mutable std::mutex lock_;   // guards what follows
    std::uint64_t added_ = 0;   // since the last slice
    std::uint64_t counted_ = 0; // of this walk, from the end
    time_ms reached_ = never;   // what ends before is still to be counted
    time_ms beyond_ = 0;
};

} // namespace jobs
