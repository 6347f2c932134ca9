#pragma once

#include <cstdint>
#include <string_view>

namespace rota::coding {

/// The formats that bytes are compressed to.
enum class format : std::uint8_t {
    gzip,    // RFC 1952: deflate with a head and a checksum
    zlib,    // RFC 1950: deflate with a shorter head; what HTTP calls "deflate"
    deflate, // RFC 1951: nothing around it, as WebSocket has it (RFC 7692)
    br,      // Brotli, RFC 7932
    zstd,    // Zstandard, RFC 8878
};

inline constexpr int format_count = 5;

/// Returns whether this build has it: gzip, zlib and deflate need zlib, br Brotli, zstd Zstandard.
/// Any thread.
[[nodiscard]] bool is_available(format which) noexcept;

/// Returns "gzip", "zlib", "deflate", "br", "zstd": except for zlib and deflate, its name in HTTP
/// (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).
[[nodiscard]] std::string_view to_string(format which) noexcept;

} // namespace rota::coding
