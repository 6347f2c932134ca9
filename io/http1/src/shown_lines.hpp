#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rota::http {

// llhttp refuses some lines that the standard allows. What it is shown in their place says the same
// about framing in the way that it takes, so that it still has to agree with the rules, which read
// the line itself. A line that says anything else is shown as it is, or not at all.

/// Whether llhttp is to be shown something else for this line of a head: tabs behind a
/// Content-Length, tabs or empty elements in a Transfer-Encoding (RFC 9110 sections 5.6.1 and
/// 5.6.3), or one without any element, which adds nothing to the others (section 5.3).
[[nodiscard]] bool shown_differently(std::string_view line) noexcept;
/// Writes that over the line, in the same length: every element stays where it is. A
/// Transfer-Encoding without any becomes a field that says nothing.
void show_field(char* line, std::size_t size) noexcept;

/// What llhttp is shown for a chunk line, without its CRLF: the same without the white space around
/// ";" and "=" of its extensions (RFC 9112 section 7.1.1). False if what is behind its digits is no
/// list of extensions; then `shown` means nothing.
[[nodiscard]] bool show_chunk_line(std::string_view content, std::string& shown);

} // namespace rota::http
