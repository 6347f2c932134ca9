#pragma once

#include <string_view>

namespace rota::http {

/// Returns the reason phrase registered for a status code, or "Unknown" (RFC 9110 section 15).
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

/// Returns whether a response with this status never has content, whatever its header fields say
/// (RFC 9112 section 6.3).
[[nodiscard]] constexpr bool status_has_no_content(int status) noexcept {
    return status < 200 || status == 204 || status == 304;
}

} // namespace rota::http
