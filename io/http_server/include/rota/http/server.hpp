#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <rota/awaitable.hpp>
#include <rota/http/error.hpp>
#include <rota/http/limits.hpp>
#include <rota/http/metrics.hpp>
#include <rota/http/problem.hpp>
#include <rota/http/router.hpp>
#include <rota/http/serve_connection.hpp>
#include <rota/http/takeover.hpp>
#include <rota/io/context.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/io/network.hpp>
#include <rota/io/server.hpp>
#include <rota/io/tls/options.hpp>
#include <rota/task.hpp>

namespace rota::http {

struct server_options {
    /// Where to listen: {"127.0.0.1:8080", "[::]:80", "unix:/run/x.sock", "8080"}, of which the
    /// last is a port of 127.0.0.1 (see io::endpoint). At least one.
    std::vector<io::endpoint> listen{};
    io::listen_options socket{};
    /// Connections at once; further clients wait in the backlog.
    std::size_t max_connections = 10'000;
    /// How long a drain waits for requests in flight before it cancels them.
    std::chrono::milliseconds drain_timeout = std::chrono::seconds(10);
    server_limits limits{};
    /// How much content all requests and WebSockets together keep that is put together: text(),
    /// json(), form(), handlers that take it whole, body_reader::keep(), messages. 16 KiB of each
    /// are free; where there is no more a request is answered with 503, "Retry-After: 1", and a
    /// WebSocket closed with 1013.
    std::size_t content_memory_bytes_max = 268'435'456;
    /// By default what handlers throw is written to stderr.
    session_hooks hooks{};

    /// HTTPS: with a certificate; `alpn` is replaced by the protocols of HTTP. Clients have
    /// `handshake_timeout` for the handshake. If `listen_tls` is empty all of `listen` is HTTPS,
    /// else the addresses of `listen_tls`, which are listened on as well.
    io::tls::server_options tls{};
    std::vector<io::endpoint> listen_tls{};
    std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);

    /// HTTP/2 beside HTTP/1.1, where it is built in (has_http2()): for clients of TLS that offer it
    /// (ALPN), and in clear for those that begin with it (RFC 9113 section 3.3).
    bool http2 = true;

    /// Clients from these networks are proxies that begin each connection, before TLS too, with a
    /// header of the PROXY protocol (io/proxy_header.hpp): request::peer() is the client that it
    /// names. A connection of theirs without one is closed, as is one that has none within
    /// limits.header_timeout. Others are served as they are. Connections of proxies do not rest.
    io::network_list proxy_protocol{};

    /// Proxies in these networks end TLS for clients: a target of https that comes from them in
    /// clear is served. From others it is a 421 over HTTP/1.1 (RFC 9110 section 7.4). Usually the
    /// networks of http::trusted_proxies().
    io::network_list trusted_gateways{};
};

/// Returns whether this build speaks HTTP/2: the Meson feature http2, by nghttp2.
[[nodiscard]] bool has_http2() noexcept;

/// An HTTP server: serves the routes of a router to the clients of an io::server.
///
/// Made and run by one thread; drain(), refuse(), drain_token(), metrics(), listening() and
/// connections() are for any thread. Handlers run on the workers of the context. run() ends after
/// the last of them, and nothing that was given to the server is called any more; whatever sessions
/// use is theirs too, so the object may be destroyed before.
class server {
public:
    /// Throws std::invalid_argument for options that make no sense, or for TLS in a build without
    /// it, and std::runtime_error, with its name, for a file of TLS that cannot be used.
    server(io::context& ctx, router routes, server_options options);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Listens and serves until drain(), then lets the requests in flight finish. See
    /// io::server::run().
    [[nodiscard]] task<void> run();
    /// Begins to drain: no new clients, idle ones are closed, answers say "Connection: close".
    void drain() noexcept;
    /// Makes requests be answered, from now on or no longer, with 503, "Retry-After: 1" (unless
    /// router::error() sets another) and "Connection: close", whatever their path, for a program
    /// that is short of something. Requests at work go on.
    void refuse(bool on) noexcept;
    /// Reads the files of TLS again, for clients to come; the others notice nothing. Throws
    /// std::runtime_error, as the constructor does, and then nothing has changed. Blocks. Any
    /// thread.
    void reload_certificates();
    /// Does the same, if one of them has changed: see io::tls::context::reload_changed().
    bool reload_changed_certificates();
    /// Does run() in the foreground, drained by SIGINT, SIGTERM or SIGHUP, and ended if need be;
    /// for main(). See io::run_until_signalled().
    void run_until_signalled();
    void run_until_signalled(io::end_signals& signals);

    /// Adds work beside the clients, a task or a function, that is there as long as handlers run,
    /// is stopped then, and awaited by run(): `server.attach(every(1s, [&] { ... }))`; or told to
    /// finish: `server.attach([&] { return pack(&orders); }, {.finish = [&] { orders.close(); }})`.
    /// Before run(). See io::server::attach().
    template <task_body A>
    void attach(A&& body, io::attach_options options) {
        attach_task(rota::detail::as_void_task(std::forward<A>(body)), std::move(options));
    }
    template <task_body A>
    void attach(A&& body, std::string name = "background") {
        attach(std::forward<A>(body), io::attach_options{.name = std::move(name)});
    }

    /// Returns a token that is requested when the drain begins, for handlers that keep clients
    /// waiting.
    [[nodiscard]] std::stop_token drain_token() const noexcept;
    [[nodiscard]] metrics_snapshot metrics() const noexcept;
    /// Returns the metrics of each route; http::prometheus() is a page of both. Throws
    /// std::bad_alloc.
    [[nodiscard]] std::vector<route_metrics> metrics_by_route() const;
    [[nodiscard]] std::size_t connections() const noexcept;
    /// Returns where it listens, HTTPS last; blocks until it does. See io::server::listening().
    [[nodiscard]] std::vector<io::endpoint> listening() const;

private:
    void attach_task(task<void> body, io::attach_options options);

    struct state;
    std::unique_ptr<state> state_;
};

/// Does everything in one call, for a main() of few lines: makes a context, serves `routes` on
/// `address` (as io::endpoint takes it) and wherever the options say until SIGINT, SIGTERM or
/// SIGHUP, drains. Returns the exit code: 0, or 1 if it could not serve, after saying why, and what
/// to do about it, in one line of the log. The process ends with exit code 1 if the end takes 5 s
/// longer than the drain timeout, or than a second signal (io::end_signals). Throws nothing. One at
/// a time in a process, as io::serve().
[[nodiscard]] int serve(router routes, const std::string& address, server_options options = {},
                        const io::context_options& context = {}) noexcept;

} // namespace rota::http
