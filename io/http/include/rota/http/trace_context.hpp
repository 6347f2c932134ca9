#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rota::http {

/// A request's place in a trace: W3C Trace Context, level 1. A value; any thread.
struct trace_context {
    std::array<char, 32> trace_id{};  ///< of everything that belongs together, hexadecimal
    std::array<char, 16> parent_id{}; ///< of what the client did; zeros: it began here
    std::array<char, 16> span_id{};   ///< of what is done for this request
    bool sampled = false;             ///< whether the client may have recorded it
    std::string state{};              ///< tracestate, as it came

    /// Returns traceparent for a request that is made for this one: "00-...-...-01".
    [[nodiscard]] std::string to_string() const;
};

/// Reads traceparent: the ids of the trace and of the client, and its flags. Returns nothing for
/// what is malformed, of version ff, or has an id of zeros; of later versions what is known of
/// them.
[[nodiscard]] std::optional<trace_context> parse_traceparent(std::string_view text) noexcept;

} // namespace rota::http
