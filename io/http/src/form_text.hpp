#pragma once

#include <string>
#include <string_view>

namespace rota::http {

/// Whether it is UTF-8 (RFC 3629 section 4).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// "%22", "%0D" and "%0A" are what they stand for: how HTML writes names into multipart content.
[[nodiscard]] std::string html_unescaped(std::string_view text);

/// The name of a file whose escapes stand for bytes of UTF-8 (RFC 7578 section 2), if all of them
/// are such; else as html_unescaped() has it.
[[nodiscard]] std::string percent_unescaped(std::string_view text);

/// Whether a text of this charset is windows-1252, as the labels of WHATWG's Encoding have it: so
/// are ISO-8859-1 and US-ASCII.
[[nodiscard]] bool is_windows_1252(std::string_view charset) noexcept;
[[nodiscard]] std::string utf8_of_windows_1252(std::string_view text);

} // namespace rota::http
