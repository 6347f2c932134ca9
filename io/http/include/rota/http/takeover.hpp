#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/http/limits.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

class request;
class wire;

/// A client's connection that a handler has taken over (response::upgrade(), response::tunnel()): a
/// stream of bytes without HTTP. What the client had sent behind its request is there to be read.
///
/// It stays the server's: counted as a connection and in its bytes, ended when the drain is over,
/// and a client that takes nothing of what is written is reset after the server's send_timeout, or
/// below its least rate (timed_out). How long the client may be silent is for its user to say, by
/// the deadlines of reads. Belongs to the taker, and lives until that ends; the connection closes
/// then, after what was written. If the taker throws, which is reported, it is reset.
class takeover final : public io::stream {
public:
    /// All of them outlive it.
    takeover(wire& client, const request& asked, const server_limits& limits,
             std::stop_token draining) noexcept;

    /// The request that it was asked for with: its path, its fields.
    [[nodiscard]] const request& asked() const noexcept { return asked_; }
    /// The server's.
    [[nodiscard]] const server_limits& limits() const noexcept { return limits_; }
    /// Requested when the server begins to drain: a good time to say goodbye. What goes on is
    /// cancelled when the drain timeout has passed.
    [[nodiscard]] const std::stop_token& draining() const noexcept { return draining_; }

    [[nodiscard]] std::string_view buffered() const noexcept override;
    void consume(std::size_t bytes) noexcept override;
    task<bool> fill(io::deadline until = {}) override;
    task<bool> fill_more(io::deadline until = {}) override;
    [[nodiscard]] bool peer_closed() const noexcept override;
    task<void> write(std::string_view bytes, io::deadline until = {}) override;
    task<void> write_owned(std::string bytes, io::deadline until = {}) override;
    bool try_write(std::string_view bytes) override;
    task<void> flush(io::deadline until = {}) override;
    [[nodiscard]] io::send_progress progress() const noexcept override;
    void shutdown_write() noexcept override;
    void abort() noexcept override;

private:
    wire& wire_;
    const request& asked_;
    const server_limits& limits_;
    const std::stop_token draining_;
};

} // namespace rota::http
