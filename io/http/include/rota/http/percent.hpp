#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rota::http {

// Percent-coding (RFC 3986 section 2.1), and that of HTML forms on top of it. Any thread.

/// Returns whether every '%' in the text starts a valid escape and none of them is %00.
[[nodiscard]] bool valid_escapes(std::string_view text) noexcept;
/// Returns whether the text has %00 in it, for which valid_escapes() refuses it. It is well-formed
/// (RFC 3986 section 2.1), but no name that is a C string can contain it.
[[nodiscard]] bool has_escaped_nul(std::string_view text) noexcept;

/// Returns the decoded bytes; nothing if a '%' in the text starts no escape.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// Returns bytes as a piece of a URI: letters, digits, "-._~" and what `also` lists stay, the rest
/// becomes escapes. A segment of a path, or a name or value of a query, needs nothing in `also`; a
/// whole path needs "/".
[[nodiscard]] std::string percent_encoded(std::string_view bytes, std::string_view also = {});

/// Decodes one name or value of a query in the form that HTML forms send: '+' is a space, and what
/// is not a valid escape stays as it is.
[[nodiscard]] std::string decode_form(std::string_view text);

/// Returns one name or value in that form; "=" and "&" between them are the caller's.
[[nodiscard]] std::string encode_form(std::string_view bytes);

} // namespace rota::http
