#pragma once

#include <string>
#include <string_view>

namespace rota::http {

/// What stands for an encoded slash in a decoded path until routing is done: NUL, which
/// valid_escapes() keeps out.
inline constexpr char encoded_slash = '\0';

/// Decodes a path into `out`, "%2F" to `encoded_slash`, so that an encoded slash never separates
/// segments (RFC 3986 section 2.2). Of a path that is refused, but whose error page is looked for,
/// what is no escape stays.
void decode_path(std::string_view path, std::string& out);

} // namespace rota::http
