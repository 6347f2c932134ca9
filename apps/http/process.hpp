#pragma once

#include <algorithm>
#include <cstddef>

namespace rota_http {

/// What a server wants of its process before anything else runs: descriptors 0, 1 and 2 are open
/// (else a socket would become one of them, and be sent what is meant for stderr), SIGPIPE and
/// SIGXFSZ are ignored, SIGINT, SIGTERM, SIGHUP and SIGUSR1 are blocked until they are waited for.
/// Called first in main().
void prepare_process() noexcept;

/// Raises the limit of open descriptors as far as is allowed; returns it.
std::size_t raise_descriptor_limit() noexcept;

/// How many descriptors this process has open, all that are allowed if none is left to tell it by;
/// 0 if that cannot be told.
[[nodiscard]] std::size_t open_descriptors() noexcept;

inline constexpr std::size_t other_descriptors = 64; ///< rings, listeners, log, libraries' own

/// How many connections `limit` descriptors are good for, of which so many are `open`: of few,
/// half, and what those that listen leave.
[[nodiscard]] constexpr std::size_t connections_within(std::size_t limit,
                                                       std::size_t open) noexcept {
    constexpr std::size_t to_come = 4; // of them
    if (limit > 2 * other_descriptors)
        return limit - other_descriptors;
    return std::min(limit / 2, limit - std::min(limit, open + to_come));
}

/// How many of `limit` descriptors files may be kept open by: those that clients, of whom there are
/// `connections_max` at once, have no use for, or few.
[[nodiscard]] constexpr std::size_t descriptors_for_files(std::size_t limit,
                                                          std::size_t connections_max) noexcept {
    constexpr std::size_t most = 16'384;
    const std::size_t others = std::min(limit, other_descriptors);
    const std::size_t left = limit - others - std::min(limit - others, connections_max);
    return std::clamp<std::size_t>(std::max(left, limit / 32), 1, most);
}

} // namespace rota_http
