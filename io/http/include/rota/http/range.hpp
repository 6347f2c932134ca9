#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::http {

// Byte ranges (RFC 9110 section 14), without I/O. Any thread.

/// A part of a content, not empty.
struct byte_range {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool operator==(const byte_range&) const = default;
};

/// The most ranges that are answered; a request for more gets the whole content.
inline constexpr std::size_t ranges_max = 16;

/// The result of a Range field for a content of a certain size.
struct requested_ranges {
    enum class answer : std::uint8_t {
        whole,         ///< the field is ignored: 200
        parts,         ///< 206; not empty, none overlaps another
        unsatisfiable, ///< 416
    };
    answer how = answer::whole;
    std::vector<byte_range> parts; ///< in the order in which they were asked for first
};

/// Reads the value of a Range field: "bytes=0-499, -500". Ranges that overlap are merged; those
/// beyond the end are left out. The whole is answered for a unit other than bytes, for what is
/// malformed anywhere, for more than `ranges_max` ranges that do not overlap, and for the last
/// bytes of an empty content.
[[nodiscard]] requested_ranges read_range(std::string_view value, std::uint64_t content_size);

/// Returns the value of Content-Range for a part, "bytes 0-499/1234", and for a 416, "bytes
/// */1234".
[[nodiscard]] std::string content_range(const byte_range& part, std::uint64_t content_size);
[[nodiscard]] std::string content_range_unsatisfied(std::uint64_t content_size);

} // namespace rota::http
