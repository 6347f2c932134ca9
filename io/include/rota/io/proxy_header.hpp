#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <rota/io/endpoint.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::io {

/// What a proxy or balancer says of the connection that it passes on: the PROXY protocol, versions
/// 1 and 2 (HAProxy's proxy-protocol.txt).
struct proxy_header {
    /// Where the client is, and where it had connected to. Nothing if the connection is the proxy's
    /// own (LOCAL, as for a health check), or if it does not know or say (UNKNOWN, UNSPEC, not a
    /// stream): the socket's own addresses count then.
    std::optional<endpoint> source;
    std::optional<endpoint> destination;
    int version = 0; ///< 1 or 2
};

/// How far one has been read.
struct proxy_header_reading {
    enum class progress : std::uint8_t { need_more, complete, malformed };
    progress now = progress::need_more;
    std::size_t size = 0;   ///< of the header, if complete: what follows is the client's
    proxy_header header{};  ///< if complete
    const char* wrong = ""; ///< if malformed: what is wrong, in a few words
};

/// The longest header that is accepted: version 1 has at most 107 bytes, version 2 any number of
/// extensions (TLV), which are skipped.
inline constexpr std::size_t proxy_header_bytes_max = 16'384;

/// Reads a header off the front of what has arrived. Reports malformed as soon as that is certain.
[[nodiscard]] proxy_header_reading parse_proxy_header(std::string_view bytes) noexcept;

/// Thrown when there is no header, or not a valid one.
class proxy_header_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Takes the header off the front of a stream; what follows it stays. Throws proxy_header_error,
/// also if the stream ends before; timed_out when `until` passes first; what stream::fill_more()
/// throws. Nothing has been consumed then. Only to be believed from known peers: see network_list.
[[nodiscard]] task<proxy_header> read_proxy_header(stream* from, deadline until);

} // namespace rota::io
