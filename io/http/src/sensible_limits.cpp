#include <rota/http/detail/sensible_limits.hpp>
#include <rota/http/detail/summable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <rota/time_span.hpp>

namespace rota::http {

server_limits sensible(server_limits limits) {
    const auto require = [](bool holds, const char* what) {
        if (!holds)
            throw std::invalid_argument(std::string("limits: ") + what);
    };
    // Sums of these have room, and places in a head in 32 bits.
    constexpr std::size_t head_max = std::size_t{1} << 30;
    parser_limits& head = limits.parser;
    for (std::size_t* const each :
         {&head.request_line_bytes_max, &head.head_bytes_max, &head.trailer_bytes_max})
        *each = std::min(*each, head_max);
    for (std::size_t* const each :
         {&head.header_count_max, &head.chunk_line_bytes_max, &head.chunk_extension_bytes_max,
          &head.leading_empty_lines_max, &limits.output_batch_bytes})
        *each = summable(*each);
    for (std::uint64_t* const each :
         {&head.body_bytes_max, &limits.drain_bytes_max, &limits.linger_bytes_max})
        *each = summable(*each);
    require(head.request_line_bytes_max != 0 && head.head_bytes_max != 0,
            "request_line_bytes_max and head_bytes_max must be at least 1");
    require(limits.output_batch_bytes != 0, "output_batch_bytes must be at least 1");
    for (server_limits::milliseconds* const each :
         {&limits.header_timeout, &limits.idle_timeout, &limits.rest_after, &limits.drain_grace,
          &limits.body_timeout, &limits.body_grace, &limits.send_timeout, &limits.linger_timeout}) {
        require(each->count() >= 0, "a time must not be negative");
        *each = at_most_ten_years(*each);
    }
    const http2_limits& http2 = limits.http2;
    constexpr std::uint32_t window_min = 65'535;
    constexpr std::uint32_t window_max = 0x7fff'ffff; // RFC 9113 section 6.9.1
    require(http2.streams_max != 0, "http2.streams_max must be at least 1");
    for (const std::uint32_t each : {http2.stream_window_bytes, http2.connection_window_bytes})
        require(each >= window_min && each <= window_max,
                "a window of HTTP/2 must have from 65,535 bytes to 2 GiB");
    return limits;
}

} // namespace rota::http
