#pragma once

#include <string_view>

namespace rota::http {

/// Returns whether it is uri-host [":" port] (RFC 9112 section 3.2); the empty text, without a
/// port, is valid in a Host field: http and https have no empty host (RFC 9110 section 4.2.1).
[[nodiscard]] bool valid_host(std::string_view text) noexcept;

} // namespace rota::http
