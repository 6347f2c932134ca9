#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/io/context.hpp>
#include <rota/io/datagram.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::io {

class datagram_core;

struct datagram_options {
    /// The longest datagram that is received whole, from 1 to 65,535; of a longer one only the
    /// beginning is received (datagram::truncated()).
    std::size_t datagram_bytes_max = 2048;
    /// The most datagrams of one receive(), from 1 to 1024. A socket has buffers for this many of
    /// that size.
    std::size_t batch_max = 32;
    /// Bytes that may be queued to be sent, at least 65,536; of at most 128 datagrams.
    std::size_t queue_bytes_max = 131'072;
    /// How much the kernel keeps until it is received (SO_RCVBUF, man 7 socket; no more than the
    /// sysctl net.core.rmem_max); anything beyond is lost, and counted. 0: the system's default.
    std::size_t kernel_bytes = 0;
    /// Lets the kernel gather datagrams of one sender (UDP_GRO, man 7 udp), which are taken apart
    /// here: takes more memory, but is cheaper where long rows of them arrive. The buffers are then
    /// 4 of 65,535 bytes, whatever the above says, for one row each. Without GRO that holds only 4
    /// datagrams.
    bool coalesced = false;
    bool reuse_port = false; ///< SO_REUSEPORT: several sockets, of this user, share the port
    bool ipv6_only = false;  ///< "::" does not take datagrams of IPv4
};

/// What happened to datagrams that were to be sent.
struct send_report {
    std::size_t sent = 0;    ///< taken by the kernel
    std::size_t failed = 0;  ///< refused by it, each individually; they are gone
    std::error_code error{}; ///< of the first that failed
};

/// What a socket has seen so far.
struct datagram_counts {
    std::uint64_t received = 0;
    std::uint64_t truncated = 0; ///< of these
    std::uint64_t sent = 0;
    std::uint64_t failed = 0;  ///< could not be sent
    std::uint64_t refused = 0; ///< the network has said that something did not arrive (ICMP);
                               ///< connected sockets only
    std::uint64_t missed = 0;  ///< dropped by the kernel, which had no room for more
};

/// A UDP socket, IPv4 or IPv6. It receives and sends in batches:
///
///     task<void> serve(io::datagram_socket socket) {
///         while (auto batch = co_await socket.receive()) {
///             for (const io::datagram& d : *batch) {
///                 const std::string answer = answer_to(d.bytes());
///                 while (!socket.queue(d.from(), answer)) co_await socket.flush();
///             }
///             co_await socket.flush();
///         }
///     }
///
/// Used by routines of one worker, the one that home() names: one receives and one (the same or
/// another) queues, flushes and sends; a wait on another worker throws std::logic_error. Like a
/// connection it may be moved and destroyed on any thread, and outlive its routine; when moved
/// from, it can only be assigned to and destroyed. context::stop() closes those that are left;
/// after that it is dead: calls fail with ECONNABORTED, and destroying it only frees its memory.
///
/// The memory of a socket is allocated with it and does not grow: batch_max * (datagram_bytes_max +
/// 160 bytes), or 258 KiB if `coalesced`, and queue_bytes_max + 19 KiB. What the kernel keeps is
/// bounded by its SO_RCVBUF and SO_SNDBUF.
class datagram_socket {
public:
    /// Opens a socket that is bound to `address`, for `home`; for port 0 the system chooses one.
    /// Called by a routine of `home`. Throws std::system_error, with the address and what to do
    /// about it in its text; std::invalid_argument for a Unix address, and for options that make no
    /// sense.
    datagram_socket(context& ctx, worker& home, const endpoint& address,
                    datagram_options options = {});
    datagram_socket(datagram_socket&& other) noexcept
        : core_(std::exchange(other.core_, nullptr)) {}
    datagram_socket& operator=(datagram_socket&& other) noexcept;
    datagram_socket(const datagram_socket&) = delete;
    datagram_socket& operator=(const datagram_socket&) = delete;
    /// Closes it; what is queued and was not flushed is dropped. Any thread, but not during one of
    /// its waits.
    ~datagram_socket();

    /// Does what the constructor does, for use by the calling routine.
    static task<datagram_socket> bind(context& ctx, endpoint address,
                                      datagram_options options = {});
    /// Opens a socket that speaks with `peer` alone (man 2 connect): send() and queue() need no
    /// address, and what others send does not arrive. This sends nothing itself. For use by the
    /// calling routine; throws what the constructor throws.
    static task<datagram_socket> connect(context& ctx, endpoint peer,
                                         datagram_options options = {});

    // -- receiving

    /// Waits for at least one datagram and returns what has arrived; nothing at the end, which is
    /// drain(). The batch is valid until the next call that receives. Throws operation_cancelled,
    /// timed_out when `until` passes before there is something, std::system_error if the socket is
    /// unusable. However it fails, nothing was taken.
    ///
    /// A refusal by the peer's machine of what a connected socket has sent (ECONNREFUSED and the
    /// like, from ICMP) is not a failure: it is counted, and the wait goes on.
    ///
    /// As a branch of when_any() it may have taken a batch when another branch wins; to lose
    /// nothing there, let ready() take part in the race and take by try_receive().
    task<std::optional<datagram_batch>>
    receive(deadline until = {}, std::source_location where = std::source_location::current());
    /// Returns what has arrived, without waiting; nothing if nothing has. Throws std::system_error.
    [[nodiscard]] std::optional<datagram_batch> try_receive();
    /// Waits until try_receive() is worth calling, and takes nothing. Returns true, or false at the
    /// end. Throws what receive() throws.
    task<bool> ready(deadline until = {},
                     std::source_location where = std::source_location::current());

    // -- sending

    /// Queues a copy of `bytes` for `to`; flush() sends it. Never waits: if the queue is full,
    /// sends what is in it first, as far as the kernel takes it; if that is nothing, returns false,
    /// with nothing changed. What the network does not take (too long, no way to that address) is
    /// in the report of flush(). Returns false if dead.
    bool queue(const endpoint& to, std::string_view bytes);
    /// Does the same for the peer of a connected socket.
    bool queue(std::string_view bytes);
    /// Sends all that is queued, in order, and waits until the kernel has taken it. Datagrams of
    /// one size and destination that follow each other go as one message (UDP_SEGMENT, man 7 udp),
    /// where the kernel does that; they arrive as if each had been sent individually.
    ///
    /// Returns what happened to all that was queued since the last flush(). One that fails does not
    /// keep the others from being sent, and is not an exception: the address of a stranger may be
    /// at fault. Throws timed_out when `until` passes first, and operation_cancelled: what has not
    /// been sent stays queued then. Throws std::system_error (ECONNABORTED) if it is dead.
    task<send_report> flush(deadline until = {},
                            std::source_location where = std::source_location::current());
    /// Sends one datagram now, after what is queued. Throws std::system_error, with what was to be
    /// sent in its text, if the kernel refuses it: EMSGSIZE for one that is too long, ENETUNREACH,
    /// EPERM (a packet filter), ...; the socket goes on. Throws timed_out and operation_cancelled,
    /// if it was not sent. `bytes` are valid until it ends.
    task<void> send(endpoint to, std::string_view bytes, deadline until = {},
                    std::source_location where = std::source_location::current());
    /// Does the same for the peer of a connected socket.
    task<void> send(std::string_view bytes, deadline until = {},
                    std::source_location where = std::source_location::current());

    // -- the end

    /// Lets receive() give what the kernel has already, up to 65,536 datagrams, and then nothing.
    /// Sending goes on. At home; idempotent.
    void drain() noexcept;
    /// Drains when `token` is requested, on whatever thread, as in
    /// `socket.drain_on(server.drain_token())`. Replaces the previous token. At home.
    void drain_on(std::stop_token token);

    // -- about it

    /// Returns where it is bound, with the port that the system chose. Throws std::system_error,
    /// with ECONNABORTED if it is dead.
    [[nodiscard]] endpoint local() const;
    /// Returns the counts so far. A system call, for `missed`, which is 0 once the socket is dead.
    /// At home.
    [[nodiscard]] datagram_counts counts() const noexcept;
    /// Returns the socket, for getsockopt and setsockopt; owned by this. -1 if dead.
    [[nodiscard]] int native_handle() const noexcept;
    /// Returns the worker that it lives on. Throws std::system_error if the context has stopped.
    [[nodiscard]] worker& home() const;

    /// Takes over `core`, which is open. For datagram_server.
    explicit datagram_socket(datagram_core* core) noexcept : core_(core) {}

private:
    datagram_core* core_;
};

} // namespace rota::io
