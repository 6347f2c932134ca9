#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rota::http {

// Percent-coding (RFC 3986 section 2.1), and that of HTML forms on top of it. Any thread.

/// True if every '%' in the text starts a valid escape and none of them is %00.
[[nodiscard]] bool valid_escapes(std::string_view text) noexcept;
/// True if there is %00 in it, which is what valid_escapes() has against it then. It is well-formed
/// (RFC 3986 section 2.1), but where names are C's, nothing is called so.
[[nodiscard]] bool has_escaped_nul(std::string_view text) noexcept;

/// The bytes that a text stands for, once decoded; nothing if a '%' in it starts no escape.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// Bytes as a piece of a URI: letters, digits, "-._~" and what `also` lists stay, the rest becomes
/// escapes. As a segment of a path, or a name or value of a query, it needs nothing in `also`; as a
/// whole path "/".
[[nodiscard]] std::string percent_encoded(std::string_view bytes, std::string_view also = {});

/// Decodes one name or value of a query in the form that HTML forms send: '+' is a space, and what
/// is not a valid escape stays as it is.
[[nodiscard]] std::string decode_form(std::string_view text);

/// One name or value in that form; "=" and "&" between them are the caller's.
[[nodiscard]] std::string encode_form(std::string_view bytes);

} // namespace rota::http
