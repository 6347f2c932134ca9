#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rota::http::ws {

/// How much longer a client may take for the message that it has begun, as for the content of a
/// request: it has a grace, and earns more with what it sends. Only what is waited for it counts,
/// so a reader may take its time. One for each message.
class message_pace {
public:
    using duration = std::chrono::steady_clock::duration;

    void came(std::uint64_t bytes) noexcept { came_ += bytes; }
    void waited(duration length) noexcept { waited_ += length; }
    /// Not negative. `rate` is not 0.
    [[nodiscard]] duration left(duration grace, std::uint64_t rate_bytes_per_s) const noexcept {
        const std::chrono::duration<double> earned(static_cast<double>(came_) /
                                                   static_cast<double>(rate_bytes_per_s));
        const auto allowed = grace + std::chrono::duration_cast<duration>(earned);
        return std::max(allowed - waited_, duration::zero());
    }

private:
    std::uint64_t came_ = 0;
    duration waited_{};
};

} // namespace rota::http::ws
