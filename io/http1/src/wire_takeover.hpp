#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/http/detail/wire.hpp>
#include <rota/http/takeover.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// A client of HTTP/1.1 that is another protocol's now: its wire, with what that counts and bounds.
class wire_takeover final : public takeover {
public:
    /// All of them outlive it.
    wire_takeover(wire& client, const request* asked, const server_limits& limits,
                  std::stop_token draining) noexcept;

    [[nodiscard]] std::string_view buffered() const noexcept override;
    void consume(std::size_t bytes) noexcept override;
    task<bool> fill(io::deadline until = {}) override;
    task<bool> fill_more(io::deadline until = {}) override;
    [[nodiscard]] bool peer_closed() const noexcept override;
    [[nodiscard]] bool failed() const noexcept override;
    task<void> write(std::string_view bytes, io::deadline until = {}) override;
    task<void> write_owned(std::string bytes, io::deadline until = {}) override;
    task<void> write_shared(io::shared_bytes bytes, io::deadline until = {}) override;
    bool try_write(std::string_view bytes) override;
    bool try_write_last(std::string_view bytes) override;
    bool try_write_shared(std::string_view before, const io::shared_bytes& bytes) override;
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override;
    task<void> flush(io::deadline until = {}) override;
    [[nodiscard]] io::send_progress progress() const noexcept override;
    void shutdown_write() noexcept override;
    void rest() noexcept override;
    void abort() noexcept override;

private:
    wire& wire_;
};

} // namespace rota::http
