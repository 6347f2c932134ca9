#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>

#include <rota/http/hooks.hpp>
#include <rota/http/limits.hpp>
#include <rota/http/metrics.hpp>
#include <rota/http/router.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// How a session that can be resumed has ended, or begins again.
struct session_rest {
    bool wanted = false; ///< it has ended only to be resumed when the client sends something
    /// or to be closed then: the end of the time to be idle, which only a request renews
    std::chrono::steady_clock::time_point until;
    std::uint64_t requests = 0; ///< that have been answered
    std::uint64_t bytes_sent = 0;
    std::size_t empty_lines = 0; ///< that have come since the last of them
};

/// What a session is given beside the stream. The pointers may be null and outlive the session.
struct session_control {
    /// Requested when the server drains: an idle connection closes, the others do after the request
    /// in flight.
    std::stop_token draining;
    server_metrics* metrics = nullptr;
    const session_hooks* hooks = nullptr;
    std::string peer;
    /// While it is set, requests are answered with 503 and the connection closes.
    const std::atomic<bool>* refusing = nullptr;
    /// Set: the session may end in order to rest, and goes on where this one says. It counts as an
    /// open connection from its beginning until it ends otherwise, so while it rests too. Outlives
    /// the session.
    session_rest* rest = nullptr;
};

/// Serves one client: reads requests off the stream and writes the answers, in order, until one
/// side has had enough.
///
/// Answers to requests that have arrived together go out together. Handlers of one connection run
/// one after the other. Nothing is read ahead of the request at work, so a slow handler holds its
/// client back, nobody else. The stop token of the calling routine cancels the handler and ends the
/// session with operation_cancelled; a client that goes away is a normal end. On return the stream
/// has been told everything; closing it is the caller's.
///
/// Everything that is pointed to outlives the task.
[[nodiscard]] task<void> serve_connection(io::stream* stream, const router* routes,
                                          const server_limits* limits, session_control control);

} // namespace rota::http
