#pragma once

#include <rota/http/limits.hpp>
#include <rota/http/router.hpp>
#include <rota/http/session_control.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// Serves one client: reads requests off the stream and writes the answers, in order, until one
/// side ends it.
///
/// Answers to requests that have arrived together are sent together. Handlers of one connection run
/// one after the other. Nothing is read ahead of the request at work, so a slow handler holds back
/// its client, and no other. The stop token of the calling routine cancels the handler and ends the
/// session with operation_cancelled; a client that goes away is a normal end. On return the stream
/// has been given everything; closing it is the caller's.
///
/// Everything that is pointed to outlives the task.
[[nodiscard]] task<void> serve_connection(io::stream* stream, const router* routes,
                                          const server_limits* limits, session_control control);

} // namespace rota::http
