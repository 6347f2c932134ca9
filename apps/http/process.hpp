#pragma once

#include <algorithm>
#include <cstddef>

namespace rota_http {

/// What a server wants of its process before anything else runs: descriptors 0, 1 and 2 are open
/// (else a socket would become one of them, and be sent what is meant for stderr), SIGPIPE is
/// ignored, SIGINT, SIGTERM, SIGHUP and SIGUSR1 are blocked until they are waited for. Called
/// first in main().
void prepare_process() noexcept;

/// Raises the limit of open descriptors as far as is allowed; returns it.
std::size_t raise_descriptor_limit() noexcept;

/// How many connections `limit` descriptors are good for: of few, half.
[[nodiscard]] constexpr std::size_t connections_within(std::size_t limit) noexcept {
    constexpr std::size_t others = 64; // rings, listeners, log, what libraries open
    return limit > 2 * others ? limit - others : std::max<std::size_t>(limit / 2, 1);
}

} // namespace rota_http
