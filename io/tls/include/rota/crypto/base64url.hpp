#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rota::crypto {

/// Returns bytes as letters, digits, '-' and '_', without padding (RFC 4648 section 5): for cookies
/// and paths. For any thread.
[[nodiscard]] std::string to_base64url(std::string_view bytes);
/// Returns the bytes again; nothing for what to_base64url() does not write.
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);

} // namespace rota::crypto
