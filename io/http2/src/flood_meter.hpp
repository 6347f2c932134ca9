#pragma once

#include <chrono>
#include <cstdint>

namespace rota::http::h2 {

/// Counts what a client may do so often: a bucket that leaks `per_s` a second, and overflows beyond
/// `burst`. A value.
class flood_meter {
public:
    using time_point = std::chrono::steady_clock::time_point;

    flood_meter(std::uint32_t burst, std::uint32_t per_s) noexcept
        : burst_ms_(std::uint64_t{burst} * 1'000), per_s_(per_s) {}

    /// One more, or as many as it costs. False if that is too much.
    [[nodiscard]] bool add(std::uint32_t cost, time_point now) noexcept {
        if (level_ms_ > 0 && now > since_) {
            const auto passed = std::chrono::floor<std::chrono::milliseconds>(now - since_);
            const std::uint64_t leaked = static_cast<std::uint64_t>(passed.count()) * per_s_;
            level_ms_ -= leaked < level_ms_ ? leaked : level_ms_;
            since_ += passed;
        }
        if (level_ms_ == 0)
            since_ = now;
        level_ms_ += std::uint64_t{cost} * 1'000;
        return level_ms_ <= burst_ms_;
    }

private:
    std::uint64_t burst_ms_; // thousandths, so that a millisecond leaks a whole number
    std::uint64_t per_s_;
    std::uint64_t level_ms_ = 0;
    time_point since_;
};

} // namespace rota::http::h2
