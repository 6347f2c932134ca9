#pragma once

#include <chrono>
#include <cstddef>

namespace rota {

/// Decides how many workers there should be, between a least and a most, from looks at them.
///
/// It adds one while nearly all are found at work, quickly, and takes one away when fewer would
/// have done for some time. Between the two lies a gap, so that a steady load leaves it alone.
/// Thread-safety: none.
class worker_scaler {
public:
    /// 1 <= least <= most.
    worker_scaler(std::size_t least, std::size_t most) noexcept
        : least_(static_cast<double>(least)), most_(static_cast<double>(most)) {}

    /// Takes in that `busy` of `active` workers were at work at this look, `passed` after the one
    /// before. Returns how many there should be: `active`, one more, or one less.
    std::size_t next(std::size_t active, std::size_t busy,
                     std::chrono::duration<double> passed) noexcept {
        const auto found = static_cast<double>(busy);
        const auto now = static_cast<double>(active);
        recent_ += (found - recent_) * weight(passed / recent_span);
        lasting_ += (found - lasting_) * weight(passed / lasting_span);
        since_change_ += passed;
        if (now < least_ ||
            (now < most_ && recent_ > grow_above * now && since_change_ >= grow_pause))
            return changed(active + 1);
        if (now > most_ || (now > least_ && lasting_ < shrink_below * (now - 1) &&
                            recent_ < shrink_below * (now - 1) && since_change_ >= shrink_pause))
            return changed(active - 1);
        return active;
    }

    /// Returns whether it may still take one away although nothing happens.
    [[nodiscard]] bool above_least(std::size_t active) const noexcept {
        return static_cast<double>(active) > least_;
    }

private:
    using seconds = std::chrono::duration<double>;
    static constexpr seconds recent_span{0.1};
    static constexpr seconds lasting_span{2.0};
    static constexpr seconds grow_pause{0.1};
    static constexpr seconds shrink_pause{0.5};
    static constexpr double grow_above = 0.8;
    static constexpr double shrink_below = 0.6;

    /// Returns the weight of the latest look in an exponentially weighted average.
    static double weight(double spans) noexcept;

    std::size_t changed(std::size_t to) noexcept {
        since_change_ = {};
        return to;
    }

    const double least_;
    const double most_;
    double recent_ = 0;  // how many are at work, over a tenth of a second
    double lasting_ = 0; // ... and over two seconds
    seconds since_change_{};
};

} // namespace rota
