#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rota::http::h2 {

/// How a client wants a stream to be served among its others (RFC 9218 section 4).
struct stream_priority {
    static constexpr std::uint8_t urgency_default = 3;

    std::uint8_t urgency = urgency_default; // 0 to 7, the most urgent first
    bool incremental = false;
};

/// What a field, or a frame, says of it: a dictionary (RFC 8941 section 3.2). A parameter that is
/// unknown, out of range or of another type is ignored alone. `before`: what lines of the same
/// field have said in front of this one. Nothing if it is no dictionary.
[[nodiscard]] std::optional<stream_priority> read_priority(std::string_view value,
                                                           stream_priority before = {}) noexcept;

} // namespace rota::http::h2
