#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pace {
namespace {

constexpr unsigned step_bits = 7;
constexpr std::uint64_t steps = std::uint64_t{1} << step_bits;
constexpr unsigned exact_bits = step_bits + 1;

/// By how many bits a value is shifted to be one of `steps` to 2 * `steps` - 1; 0 if it is smaller.
unsigned shift_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    return width > exact_bits ? width - exact_bits : 0;
}

/// Steps follow each other without gaps: those of one shift begin where those of the one before
/// end.
std::size_t index_of(std::uint64_t value) {
    const unsigned shift = shift_of(value);
    return shift * steps + (value >> shift);
}

/// The middle of a step.
std::uint64_t value_of(std::size_t index) {
    if (index < 2 * steps)
        return index;
    const auto shift = static_cast<unsigned>(index / steps - 1);
    const std::uint64_t first = (index - shift * steps) << shift;
    return first + (std::uint64_t{1} << (shift - 1));
}

} // namespace

histogram::histogram() : counts_(index_of(UINT64_MAX) + 1) {}

void histogram::add(std::uint64_t value) noexcept {
    ++counts_[index_of(value)];
    ++count_;
    max_ = std::max(max_, value);
    sum_ += static_cast<double>(value);
}

double histogram::mean() const noexcept {
    return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

std::uint64_t histogram::percentile(double percent) const noexcept {
    if (count_ == 0)
        return 0;
    const double wanted = std::ceil(static_cast<double>(count_) * percent / 100);
    const auto rank = std::max(std::uint64_t{1}, static_cast<std::uint64_t>(wanted));
    std::uint64_t passed = 0;
    std::size_t index = 0;
    for (; index + 1 < counts_.size(); ++index) {
        passed += counts_[index];
        if (passed >= rank)
            break;
    }
    return std::min(value_of(index), max_);
}

} // namespace pace
