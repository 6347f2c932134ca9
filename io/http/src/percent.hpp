#pragma once

#include <string>
#include <string_view>

namespace rota::http {

/// True if every '%' in the text starts a valid escape and none of them is %00.
[[nodiscard]] bool valid_escapes(std::string_view text) noexcept;

/// What stands for an encoded slash in a decoded path until routing is done: NUL, which
/// valid_escapes() keeps out.
inline constexpr char encoded_slash = '\0';

/// Decodes a path whose escapes are valid into `out`, "%2F" to `encoded_slash`, so that an encoded
/// slash never separates segments (RFC 3986 section 2.2).
void decode_path(std::string_view path, std::string& out);

/// Decodes one name or value of a query in the form that HTML forms send: '+' is a space, and what
/// is not a valid escape stays as it is.
[[nodiscard]] std::string decode_form(std::string_view text);

} // namespace rota::http
