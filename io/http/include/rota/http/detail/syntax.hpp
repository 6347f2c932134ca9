#pragma once

// The character classes and small comparisons of the HTTP grammar that are no matter of fields
// (RFC 3986, RFC 9112 section 1.2). Those that are come from fields.hpp.

#include <cstddef>
#include <string_view>

#include <rota/http/fields.hpp>

namespace rota::http::syntax {

namespace detail {
using fields::detail::make_class;
// RFC 3986: unreserved and sub-delims, the characters of a registered name but for
// percent-encoding.
inline constexpr auto host_chars = make_class("-._~!$&'()*+,;=");
// RFC 3986: pchar and '/', but for percent-encoding.
inline constexpr auto path_chars = make_class("-._~!$&'()*+,;=:@/");
} // namespace detail

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

[[nodiscard]] constexpr bool is_host_char(char c) noexcept {
    return detail::host_chars[static_cast<unsigned char>(c)];
}

[[nodiscard]] constexpr bool is_path_char(char c) noexcept {
    return detail::path_chars[static_cast<unsigned char>(c)];
}

/// Returns the value of a hexadecimal digit, or -1.
[[nodiscard]] constexpr int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/// `line` is not empty.
[[nodiscard]] constexpr bool starts_with_space(std::string_view line) noexcept {
    return line.front() == ' ' || line.front() == '\t';
}

[[nodiscard]] constexpr std::string_view without_last_cr(std::string_view line) noexcept {
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line;
}

} // namespace rota::http::syntax
