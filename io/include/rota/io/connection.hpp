#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include <rota/io/endpoint.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota {
class worker;
}

namespace rota::io {

class connection_core;

/// Two numbers that a resting connection keeps for its handler; see rest_place::swap().
using rest_memo = std::array<std::uint64_t, 2>;

/// A connected socket, TCP or Unix, as a stream: the client of a server, or what connect() returns.
///
/// Used by routines of one worker, the one that home() names; a wait for bytes on another throws
/// std::logic_error. Destroying it closes the connection in good order: what was written still
/// leaves (for the reactor's linger time at most), then the peer sees the end of the stream.
/// Nothing has to be awaited for that.
///
/// It may be moved and destroyed on any thread, and outlive its routine: then its worker closes it.
/// But not while a routine waits in it, unless that routine has been told to stop: it would wait
/// for ever, so the program ends. A moved-from connection can only be assigned to and destroyed.
///
/// context::stop() aborts those that are left. It may outlive the context, too: it is dead then,
/// calls fail with ECONNABORTED, and destroying it only frees its memory. Connections that are kept
/// for later belong in a worker_local (rota/worker_local.hpp).
class connection final : public stream {
public:
    /// Takes over `core`, which is open. For listener, server and connect().
    explicit connection(connection_core* core) noexcept : core_(core) {}
    connection(connection&& other) noexcept;
    connection& operator=(connection&& other) noexcept;
    ~connection() override;

    [[nodiscard]] std::string_view buffered() const noexcept override;
    void consume(std::size_t bytes) noexcept override;
    task<bool> fill(deadline until = {}) override;
    task<bool> fill_more(deadline until = {}) override;
    [[nodiscard]] bool peer_closed() const noexcept override;
    [[nodiscard]] bool failed() const noexcept override;
    task<void> write(std::string_view bytes, deadline until = {}) override;
    task<void> write_owned(std::string bytes, deadline until = {}) override;
    task<void> write_shared(shared_bytes bytes, deadline until = {}) override;
    bool try_write(std::string_view bytes) override;
    bool try_write_last(std::string_view bytes) override;
    bool try_write_shared(std::string_view before, const shared_bytes& bytes) override;
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override;
    task<void> write_file(file_slice part, deadline until = {}) override;
    bool try_write_file(std::string_view before, const file_slice& part) override;
    task<void> flush(deadline until = {}) override;
    [[nodiscard]] send_progress progress() const noexcept override;
    void shutdown_write() noexcept override;
    void rest() noexcept override;
    void abort() noexcept override;

    /// Returns the address of that end (man 2 getpeername, getsockname). If there is no peer any
    /// more, peer() throws ENOTCONN.
    [[nodiscard]] endpoint peer() const;
    [[nodiscard]] endpoint local() const;
    /// Returns the socket, for getsockopt and setsockopt. Owned by the connection; neither read,
    /// write nor close it.
    [[nodiscard]] int native_handle() const noexcept;
    /// Returns the worker that it lives on. Throws std::system_error if the context has stopped.
    [[nodiscard]] worker& home() const;

private:
    friend struct connection_access;
    connection_core* core_;
};

} // namespace rota::io
