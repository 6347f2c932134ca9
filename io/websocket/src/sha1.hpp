#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace rota::http::ws {

/// SHA-1 of `text` (FIPS 180-4), for the handshake of RFC 6455 only, which asks for it to show that
/// the server has read the request: nothing is kept secret or safe by it. Here so that a handshake
/// needs no OpenSSL.
[[nodiscard]] std::array<unsigned char, 20> sha1(std::string_view text) noexcept;

} // namespace rota::http::ws
