#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rota::http {

/// How much longer a client may take for content that it has begun: a request's, or a message's. It
/// has a grace, and earns more with what it sends. Only what is waited for it counts, so a reader
/// may take its time. A value; one for each content.
class content_pace {
public:
    using duration = std::chrono::steady_clock::duration;

    void came(std::uint64_t bytes) noexcept { came_ += bytes; }
    void waited(duration length) noexcept { waited_ += length; }
    /// Not negative. With a rate of 0 it has `most` in all, else what it has earned, at most that.
    [[nodiscard]] duration left(duration grace, std::uint64_t rate_bytes_per_s,
                                duration most = duration::max()) const noexcept {
        if (rate_bytes_per_s > 0) {
            const std::chrono::duration<double> by_rate =
                grace + std::chrono::duration<double>(static_cast<double>(came_) /
                                                      static_cast<double>(rate_bytes_per_s));
            if (by_rate < most)
                most = std::chrono::duration_cast<duration>(by_rate);
        }
        return std::max(most - waited_, duration::zero());
    }

private:
    std::uint64_t came_ = 0;
    duration waited_{};
};

} // namespace rota::http
