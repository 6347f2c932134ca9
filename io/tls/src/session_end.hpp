#pragma once

#include <cstdint>
#include <optional>

#include "openssl.hpp"

namespace rota::io::tls {

/// How long a session goes on, each of its tickets by the one before, until there is a whole
/// handshake again (RFC 8446 section 4.6.1); in seconds.
inline constexpr std::int64_t session_seconds_max = 24L * 60 * 60;

/// When a session that begins now is over, in seconds since 1970: that long, but not beyond a
/// certificate of the client's chain as it was verified; `chain` may be null.
[[nodiscard]] std::int64_t session_end(const STACK_OF(X509) * chain, std::int64_t now);

/// Puts the end into what a session's tickets carry. False if there is no memory.
[[nodiscard]] bool keep_end(SSL_SESSION* of, std::int64_t end) noexcept;
/// What keep_end() has put there, maybe of another machine; nothing without that.
[[nodiscard]] std::optional<std::int64_t> kept_end(SSL_SESSION* of) noexcept;

} // namespace rota::io::tls
