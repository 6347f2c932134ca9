#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rota::io {

/// How long a peer that is slow to take what it is sent is still waited for. It has `most` at
/// first, gains a second for each `rate_min` bytes that it takes, and never has more than `most`: a
/// peer that takes nothing is given up after `most`, one that stays below the rate a little later,
/// one that is merely slow never. With a rate of 0 anything that it takes renews all of it. A
/// value.
class send_patience {
public:
    using duration = std::chrono::steady_clock::duration;
    using time_point = std::chrono::steady_clock::time_point;

    send_patience() = default;
    /// Starts at `now`, when the peer has taken `taken` bytes.
    send_patience(duration most, time_point now, std::uint64_t taken) noexcept
        : left_(most), looked_(now), taken_(taken) {}

    /// Returns what is left of it at `now`; zero or less: it is over.
    duration look(duration most, std::uint64_t rate_min, time_point now,
                  std::uint64_t taken) noexcept {
        const std::uint64_t more = taken > taken_ ? taken - taken_ : 0;
        left_ -= now - looked_;
        looked_ = now;
        taken_ = taken;
        if (more != 0)
            left_ = gained(most, rate_min, more);
        return left_;
    }

private:
    [[nodiscard]] duration gained(duration most, std::uint64_t rate_min,
                                  std::uint64_t bytes) const noexcept {
        using seconds = std::chrono::duration<double>;
        if (rate_min == 0)
            return most;
        const seconds gain(static_cast<double>(bytes) / static_cast<double>(rate_min));
        if (gain >= seconds(most) - seconds(left_))
            return most;
        return left_ + std::chrono::duration_cast<duration>(gain);
    }

    duration left_{};
    time_point looked_;
    std::uint64_t taken_ = 0;
};

} // namespace rota::io
