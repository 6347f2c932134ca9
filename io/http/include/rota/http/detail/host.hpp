#pragma once

#include <string_view>

namespace rota::http {

/// uri-host [":" port] (RFC 9112 section 3.2); the empty text is valid in a Host field.
[[nodiscard]] bool valid_host(std::string_view text) noexcept;

} // namespace rota::http
