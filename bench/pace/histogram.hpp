#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pace {

/// How often each duration was seen, to within 1%. Each power of two is cut into 128 equal steps,
/// below 256 each value has its own; so it has the same size whatever comes, 58 KiB.
class histogram {
public:
    histogram();

    void add(std::uint64_t value) noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
    [[nodiscard]] double mean() const noexcept;
    /// The smallest value such that so many percent are no larger; 0 if there is none.
    [[nodiscard]] std::uint64_t percentile(double percent) const noexcept;

private:
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
    double sum_ = 0;
};

} // namespace pace
