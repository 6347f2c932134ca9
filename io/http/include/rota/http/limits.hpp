#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rota::http {

/// What the parser accepts before it answers with an error. Sizes are bytes as they arrive; those
/// of request line, header section and trailers count as 1 GiB if they are more.
struct parser_limits {
    /// Request line without its CRLF; more is 414 (RFC 9112 section 3 recommends at least 8,000).
    std::size_t request_line_bytes_max = 8'192;
    /// Request line and header section with all line ends; more is 431.
    std::size_t head_bytes_max = 32'768;
    /// Header fields, and trailer fields apart from them; more is 431.
    std::size_t header_count_max = 100;
    /// Trailer section; more is 431.
    std::size_t trailer_bytes_max = 8'192;
    /// Body after the chunked coding is removed; more is 413, at once if Content-Length says so.
    std::uint64_t body_bytes_max = 1'048'576;
    /// A chunk-size line with its extensions, without its CRLF; more is 400.
    std::size_t chunk_line_bytes_max = 256;
    /// Bytes of chunk extensions in one body; more is 400. They have no meaning here.
    std::size_t chunk_extension_bytes_max = 4'096;
    /// CRLFs before a request line, which RFC 9112 section 2.2 asks to skip; more is 400.
    std::size_t leading_empty_lines_max = 4;
};

/// What a client of HTTP/2 may do with its connection, beside what holds for every client. Beyond
/// it the connection ends with GOAWAY and ENHANCE_YOUR_CALM (RFC 9113 section 10.5).
struct http2_limits {
    /// Requests at once, announced as SETTINGS_MAX_CONCURRENT_STREAMS; more are refused.
    std::uint32_t streams_max = 128;
    /// How much content may come ahead of what its handler reads (65,535 bytes until it has read
    /// some), and of all on a connection. At least 65,535.
    std::uint32_t stream_window_bytes = 262'144;
    std::uint32_t connection_window_bytes = 1'048'576;
    /// Streams that a client gives up, or makes the server reset by a protocol violation, and
    /// header sections that are too large: a burst, then a rate per second.
    std::uint32_t resets_burst = 400;
    std::uint32_t resets_per_s = 50;
    /// Frames without a use: PING, SETTINGS, priorities, empty DATA, and WINDOW_UPDATE beyond one
    /// for each KiB of an answer, or two for each frame of it that is shorter than the windows;
    /// and, for each KiB, header sections of streams that are over.
    std::uint32_t idle_frames_burst = 1'000;
    std::uint32_t idle_frames_per_s = 100;
    /// CONTINUATION frames of one header section.
    std::uint32_t continuations_max = 16;
};

/// The limits of a connection: sizes, times and counts. Immutable while a server uses it.
struct server_limits {
    using milliseconds = std::chrono::milliseconds;

    parser_limits parser;

    /// From the first byte of a request (for the first one: from the accept) to the end of its
    /// head; then 408.
    milliseconds header_timeout{10'000};
    /// Between two requests; then the connection is closed without an answer.
    milliseconds idle_timeout{60'000};
    /// An idle connection in clear has no routine and no session: both are reused for another
    /// active client. After this time it has given up also the buffers that its next answer would
    /// use again, and a TLS connection its session. 0: each keeps all of it.
    milliseconds rest_after{1'000};
    /// How long an idle connection is kept when the server drains: for the request that its client
    /// has just sent, which is answered with "Connection: close". Also how long one is kept open
    /// after that answer, if its client does not close it.
    milliseconds drain_grace{100};
    /// Time spent waiting for one body in all; then 408.
    milliseconds body_timeout{300'000};
    /// A body may also not be slower than this, computed over all the time spent waiting for it
    /// except `body_grace`; then 408. 0: no minimum.
    std::uint64_t body_rate_min_bytes_per_s = 240;
    milliseconds body_grace{10'000};
    /// How long a client may take nothing of an answer; then the connection is reset.
    milliseconds send_timeout{60'000};
    /// A client below this rate is not waited for much longer either: it has send_timeout, and a
    /// second more for each such number of bytes that it takes. 0: no minimum.
    std::uint64_t send_rate_min_bytes_per_s = 240;
    /// Requests answered on one connection before it is closed. 0: any number.
    std::uint64_t requests_per_connection_max = 0;
    /// A body that the handler left unread is read and discarded up to here to keep the connection;
    /// else it closes, as after chunks that have not all come with the head, whose end is not
    /// known. HTTP/1.1: over HTTP/2 as after an error, below.
    std::uint64_t drain_bytes_max = 65'536;
    /// After an error answer input is discarded for this long, and this much, so that a client
    /// which is still sending can read the answer before it sees a reset (RFC 9112 section 9.6).
    /// While the server drains, only until nothing has come for half a second. Over HTTP/2, content
    /// after any answer; then its stream is reset.
    milliseconds linger_timeout{5'000};
    std::uint64_t linger_bytes_max = 67'108'864;
    /// Answers to pipelined requests are gathered up to here, or up to a handler that may wait.
    std::size_t output_batch_bytes = 32'768;

    http2_limits http2{};
};

} // namespace rota::http
