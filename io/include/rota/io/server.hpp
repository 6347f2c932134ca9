#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rota/io/connection.hpp>
#include <rota/io/context.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/io/listener.hpp>
#include <rota/task.hpp>

namespace rota::io {

struct server_options {
    std::vector<endpoint> listen{}; ///< where to listen; at least one
    listen_options socket{};
    /// Connections at once; further clients wait in the backlog. At least 1.
    std::size_t max_connections = 10'000;
    /// How long a drain waits for clients before it cancels them.
    std::chrono::milliseconds drain_timeout = std::chrono::seconds(10);
    /// How long clients that rest are kept when a drain begins.
    std::chrono::milliseconds rest_grace = std::chrono::milliseconds(100);
};

/// Accepts clients and runs one routine for each, on the worker that the least-loaded scheduler
/// picks.
///
/// The permit for a connection is taken before it is accepted and goes back when its descriptor has
/// been closed. A handler is stored as long as any of its clients runs. An exception that leaves it
/// ends that client only and is logged; that the peer has gone (ECONNRESET, EPIPE, ...) is not an
/// error.
class server {
public:
    /// Called for each client, on its worker. The connection closes when the handler lets go of it.
    using handler = std::function<task<void>(connection)>;

    /// What becomes of clients that rest.
    struct rest_handlers {
        /// Called for a client that has sent something: its connection, and what rest() was given.
        std::function<task<void>(connection, rest_memo)> resumed;
        /// Called, on its worker, for one that ends without that. Does not throw.
        std::function<void(worker&)> ended;
    };

    /// Throws std::invalid_argument for options that make no sense.
    server(context& ctx, handler on_client, server_options options);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Listens and serves until drain() is called, then drains: new clients are refused,
    /// drain_token() is requested, the rest may finish until the drain timeout has passed, then
    /// they are cancelled; ends when all have gone. A stop request skips the waiting. Throws
    /// std::system_error if it cannot listen. Once.
    task<void> run();
    /// Begins to drain; a second call cuts the waiting short. Any thread, also a signal's routine;
    /// idempotent.
    void drain() noexcept;

    /// Before run(), for a handler that calls rest().
    void set_rest_handlers(rest_handlers handlers);
    /// An idle client gives up its routine, and with it all memory but that of the bare connection:
    /// its handler ends, and one of `resumed` is spawned, on the same worker, when the client sends
    /// something. If it ends or fails, `until` comes, or the server drains, it is closed instead.
    /// Called by its handler, which has no other use for it; it must have written everything.
    void rest(connection client, std::chrono::steady_clock::time_point until, rest_memo memo);

    /// Requested when the drain begins: for handlers that keep clients waiting. Any thread.
    [[nodiscard]] std::stop_token drain_token() const noexcept;
    /// Connections whose descriptor is open. Any thread.
    [[nodiscard]] std::size_t connections() const noexcept;
    /// Where it listens, with the ports that the system chose. Blocks the calling thread, which is
    /// no worker, until it does; empty if it could not.
    [[nodiscard]] std::vector<endpoint> listening() const;

    struct state; // defined where the server is

private:
    friend void run_until_signalled(context& ctx, server& s);

    std::shared_ptr<state> state_;
};

/// Runs `s` in the foreground: the first SIGINT, SIGTERM, or SIGHUP that is not ignored, drains it,
/// a second one cuts that short. Returns when every client has gone. Called by main(). Throws what
/// server::run() throws, and std::system_error if signals cannot be waited for.
void run_until_signalled(context& ctx, server& s);

} // namespace rota::io
