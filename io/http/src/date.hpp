#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rota::http {

inline constexpr std::size_t http_date_size = 29;

/// Writes an IMF-fixdate (RFC 9110 section 5.6.7), "Sun, 06 Nov 1994 08:49:37 GMT", for seconds
/// since 1970.
void format_http_date(std::int64_t seconds, char* out) noexcept;

/// "Date: ...\r\n" for now, formatted once a second and thread. Valid until the calling thread asks
/// again.
[[nodiscard]] std::string_view date_line() noexcept;

} // namespace rota::http
