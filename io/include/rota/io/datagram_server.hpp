#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <rota/io/context.hpp>
#include <rota/io/datagram_socket.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/task.hpp>

namespace rota::io {

struct datagram_server_options {
    datagram_options socket{};
    /// Sockets on the one port, each on a worker of its own, among which the kernel spreads senders
    /// (SO_REUSEPORT, man 7 socket). 0: one for each worker; more than there are workers counts as
    /// their number.
    std::size_t sockets = 0;
    /// How long handlers may take to end once it drains, before they are cancelled.
    std::chrono::milliseconds drain_timeout = std::chrono::seconds(10);
};

/// Receives on one address with a socket on each worker, and runs a handler for each socket. What
/// one sender sends from one port always arrives at the same socket.
///
/// Workers that are added later have none. The handler is called, runs and is stored no longer than
/// run() does. The context outlives all of it.
class datagram_server {
public:
    struct state; // defined where the server is

    /// Called on each worker. It ends when receive() gives nothing any more, which is when the
    /// server drains. If it ends earlier, its socket is closed; the kernel then spreads senders
    /// among the others. If an exception ends it, that is reported, and it is called again with a
    /// new socket: what had arrived and was not received is lost. But if it had received nothing,
    /// it would always fail, and is not called again.
    using handler = std::function<task<void>(datagram_socket)>;

    /// Throws std::invalid_argument for options that make no sense.
    datagram_server(context& ctx, handler on_socket, const endpoint& address,
                    datagram_server_options options = {});
    ~datagram_server();
    datagram_server(const datagram_server&) = delete;
    datagram_server& operator=(const datagram_server&) = delete;

    /// Receives until drain() is called, or every handler has ended; then handlers get what the
    /// kernel has already and may answer that; those that have not ended after the drain timeout
    /// are cancelled. Ends after the last of them, with the port free, and throws what ended one of
    /// them, if anything. A stop request skips the waiting. Throws std::system_error if it cannot
    /// receive there, also if another program does. Once: std::logic_error otherwise. The task
    /// needs no server object.
    [[nodiscard]] task<void> run();
    /// Begins to drain; a second call cuts the waiting short. Any thread; idempotent.
    void drain() noexcept;
    /// Returns where it receives, with the port that the system chose. Blocks the calling thread
    /// until it receives; returns nothing if it could not, or if the task of run() was destroyed
    /// before it began. Throws std::logic_error on a worker, which it would wait for.
    [[nodiscard]] std::optional<endpoint> local() const;

private:
    std::shared_ptr<state> state_;
};

/// Does everything in one call, as serve() does for connections: makes a context, receives at
/// `address` (as endpoint takes it) with a socket on each worker until SIGINT, SIGTERM or SIGHUP,
/// drains. Returns the exit code: 0, or 1 if it could not, after saying why, and what to do about
/// it, in one line of the log. The process ends with exit code 1 if the end takes 5 s longer than
/// the drain timeout, or than a second signal (end_signals). One at a time in a process, as
/// serve().
[[nodiscard]] int serve_datagrams(datagram_server::handler on_socket, const std::string& address,
                                  datagram_server_options options = {},
                                  const context_options& context = {}) noexcept;

} // namespace rota::io
