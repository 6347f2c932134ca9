#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rota_http {

/// Decimal digits. Nothing for anything else: a sign, a space, 0x10.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);

/// "500ms", "10s", "5m", "1h"; a number alone is seconds. Whole numbers, up to a year. Nothing for
/// anything else.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// No time is longer: a year.
constexpr std::chrono::milliseconds duration_max = std::chrono::hours(24) * 366;

/// "1000", "64K", "16M", "2G", each perhaps with "B" or "iB" behind it: powers of 1024, below
/// 8589934592G (2^63). Nothing for anything else.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// How many workers: always `least`, or up to `most` under load.
struct worker_range {
    std::size_t least = 0; ///< 0: one for each core
    std::size_t most = 0;  ///< 0: as `least`
};
/// "4", "1-8", or "0" for one for each core; 256 at most. Nothing for anything else.
[[nodiscard]] std::optional<worker_range> parse_workers(std::string_view text);

/// In the largest unit that gives a whole number.
[[nodiscard]] std::string to_text(std::chrono::milliseconds length);
[[nodiscard]] std::string bytes_to_text(std::uint64_t bytes);

} // namespace rota_http
