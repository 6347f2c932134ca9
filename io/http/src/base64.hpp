#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rota::http {

/// Reads Base64 (RFC 4648 section 4), with its padding; nothing for anything else, bits behind the
/// end that are not zero included.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

} // namespace rota::http
