#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>

#include <rota/executor.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/context.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/task.hpp>

namespace rota::io {

struct listen_options {
    int backlog = 4096;      ///< connections that wait in the kernel (man 2 listen)
    bool reuse_port = false; ///< SO_REUSEPORT: several processes share the port
    bool no_delay = true;    ///< TCP_NODELAY on every connection
    bool ipv6_only = false;  ///< "::" does not take IPv4 clients
};

/// A socket that has been accepted and has no connection yet: a descriptor that closes itself.
class accepted_socket {
public:
    explicit accepted_socket(int fd) noexcept : fd_(fd) {}
    accepted_socket(accepted_socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    accepted_socket& operator=(accepted_socket&& other) noexcept;
    ~accepted_socket();
    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_;
};

/// A listening socket. accept() and ready() are for one routine at a time; they and try_accept()
/// are for routines of the worker that the listener was made for.
///
/// No client is accepted before the program asks: until then it waits in the kernel's backlog. When
/// descriptors or memory run out (EMFILE, ENFILE, ENOBUFS, ENOMEM) accepting pauses and tries again
/// every 50 ms; nothing is lost and nothing spins.
class listener {
public:
    /// Binds and listens. Replaces an old Unix socket file that no process listens on, and removes
    /// the file at the end. Throws std::system_error, with the address in its text. Called by a
    /// routine of `home`.
    listener(context& ctx, worker& home, const endpoint& address, listen_options options = {});
    /// Closes the socket, and with it each client that was let in and not taken. Any thread, and
    /// after the context, too, as with a connection.
    ~listener();
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    /// Waits for the next client and returns it. Throws operation_cancelled, and timed_out when
    /// `until` passes before there is one: no client is lost then, a later one waits for the next
    /// accept(). After close(): std::system_error ECANCELED.
    task<accepted_socket> accept(deadline until = {},
                                 std::source_location where = std::source_location::current());
    /// Returns the next client if one waits, for callers that must reserve a place before
    /// accepting. When it returns none, await ready() and try again: after some clients in a row it
    /// returns none, so that other routines have their turn.
    std::optional<accepted_socket> try_accept() noexcept;
    /// Waits until try_accept() is worth calling. Throws what accept() throws.
    task<void> ready(deadline until = {},
                     std::source_location where = std::source_location::current());
    /// Refuses new clients from now on. Those that the kernel has let in already, at most 4096, are
    /// accepted at once, since it would reset them, and accept() still returns them. Without
    /// descriptors or memory for all of them it accepts the rest as these become available; as long
    /// as there is a rest, new clients wait instead of being refused.
    void close() noexcept;
    /// Returns where it listens, with the port that the system chose, if it was 0. Throws
    /// std::system_error.
    [[nodiscard]] endpoint local() const;

private:
    struct core;
    core* core_;
};

/// Makes a connection of an accepted socket, on the worker of `place`; `on_gone` runs when its
/// descriptor has been closed. Called by a routine of that worker.
connection adopt(context& ctx, accepted_socket socket, assignment place,
                 std::move_only_function<void()> on_gone = {});

/// Connects to `address`, for use by the calling routine. Throws std::system_error (ECONNREFUSED,
/// ...), operation_cancelled, and timed_out when `until` passes first. However it fails, the socket
/// is closed and nothing is left of it; a connection that was there in time is returned, though the
/// deadline passes before the routine goes on.
task<connection> connect(context& ctx, endpoint address, deadline until = {});

} // namespace rota::io
