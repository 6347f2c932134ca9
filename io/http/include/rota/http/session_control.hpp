#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/http/detail/memory_budget.hpp>
#include <rota/http/hooks.hpp>
#include <rota/http/metrics.hpp>
#include <rota/task.hpp>

namespace rota::io {
class connection;
class network_list;
class rest_place;
namespace tls {
class stream;
}
} // namespace rota::io

namespace rota::http {

/// How a session that can be resumed has ended, or begins again.
struct session_rest {
    bool wanted = false; ///< it has ended only to be resumed when the client sends something
    /// or to be closed then: the end of the idle time, which only a request renews
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
    /// For content that handlers keep, of all sessions together.
    memory_budget* content_memory = nullptr;
    std::string peer; ///< empty if `client` has it
    /// While it is set, requests are answered with 503 and the connection closes.
    const std::atomic<bool>* refusing = nullptr;
    /// If set, the session may end in order to rest, and goes on from what is stored here. It
    /// counts as an open connection from its beginning until it ends otherwise, so while it rests
    /// too. Outlives the session.
    session_rest* rest = nullptr;
    /// If set, the session need not end for that, but lets an idle client rest there, and goes on
    /// with another one. `client` is what the stream is then. A client that rests is counted by
    /// that place.
    const io::rest_place* rests = nullptr;
    io::connection* client = nullptr;
    /// HTTP/1.1 only. If set, where `client` may be for a target of https to be served in clear.
    const io::network_list* gateways = nullptr;
    /// What the stream is, if it is TLS; what requests return.
    const io::tls::stream* tls = nullptr;
    /// Of TLS: returns whether a request for this host belongs on another connection (421, RFC 9110
    /// section 15.5.20). Must not throw; empty: none does.
    std::function<bool(std::string_view host)> misdirected{};
    /// HTTP/1.1 only. If set, a client whose first line is that of HTTP/2's preface (RFC 9113
    /// section 3.4) ends the session, which notes that here: the line has been read, and what
    /// serves the client next counts it among those that are open.
    bool* is_http2 = nullptr;
    /// HTTP/1.1 only. If set, a client that goes on in another protocol, whose taker has forgotten
    /// the request (response::forget_request()), ends the session, which stores here the task that
    /// serves the client next; the caller awaits it at once. Not without `metrics`.
    task<void>* next = nullptr;

    /// Where a session on `worker` counts: in `metrics`, or without those in `own`, made for it.
    [[nodiscard]] worker_counters& counters(std::size_t worker,
                                            std::unique_ptr<worker_counters>& own) const;
};

} // namespace rota::http
