#pragma once

#include <string_view>

#include <rota/http/limits.hpp>
#include <rota/http/router.hpp>
#include <rota/http/session_control.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// What a client of HTTP/2 has sent when HTTP/1.1 has read and recognised its first line
/// (session_control::is_http2).
inline constexpr std::string_view http2_first_line = "PRI * HTTP/2.0\r\n";

/// Serves one client by HTTP/2 (RFC 9113), as serve_connection() does by HTTP/1.1, until one side
/// ends it. `begun` is what of the client's bytes has been read already, and is static: nothing, or
/// http2_first_line, and then it has been counted among the connections (not those that are open).
///
/// Requests run side by side, each request that needs a coroutine gets its own, on the worker of
/// the calling routine. Content is read through windows: no more than limits->http2 allows comes
/// ahead of a handler. Answers are gathered while the client takes no more. What a client has given
/// up is stopped. When `control.draining` is requested the client is told to open no more streams,
/// and once more, after limits->drain_grace, which were the last; the connection ends after them.
///
/// Errors and the end are as for serve_connection(). Everything that is pointed to outlives the
/// task.
[[nodiscard]] task<void> serve_http2(io::stream* stream, const router* routes,
                                     const server_limits* limits, session_control control,
                                     std::string_view begun = {});

} // namespace rota::http
