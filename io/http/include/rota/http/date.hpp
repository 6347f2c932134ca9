#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rota::http {

inline constexpr std::size_t http_date_size = 29;

/// Writes an IMF-fixdate (RFC 9110 section 5.6.7), "Sun, 06 Nov 1994 08:49:37 GMT", for seconds
/// since 1970.
void format_http_date(std::int64_t seconds, char* out) noexcept;
/// Returns the same as a string: for Last-Modified, Expires and so on.
[[nodiscard]] std::string http_date(std::chrono::sys_seconds time);

/// Reads a date in any of the three forms that recipients have to know (RFC 9110 section 5.6.7);
/// returns nothing for anything else. `now` decides which century a year of two digits is in. The
/// day of the week must be the name of one, but need not be that of the date.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(
    std::string_view text,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now()) noexcept;

/// Returns "Date: ...\r\n" of this second, formatted once a second and thread. Valid until the
/// calling thread asks again.
[[nodiscard]] std::string_view date_line() noexcept;

} // namespace rota::http
