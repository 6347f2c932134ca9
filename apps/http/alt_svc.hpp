#pragma once

#include <string_view>

namespace rota_http {

/// Whether it can be the value of Alt-Svc (RFC 7838 section 3): "clear", or a list like
/// h2=":8443"; ma=3600, h2="b.example:443".
[[nodiscard]] bool is_alt_svc(std::string_view text) noexcept;

} // namespace rota_http
