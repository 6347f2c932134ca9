#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include <rota/http/takeover.hpp>
#include <rota/task.hpp>

namespace rota::http::h2 {

class request_stream;

/// A stream that is another protocol's now: bytes in DATA frames (RFC 8441, RFC 9113 section 8.5).
class stream_takeover final : public takeover {
public:
    /// All of them outlive it.
    stream_takeover(request_stream& of, const request* asked, const server_limits& limits,
                    std::stop_token draining) noexcept;

    [[nodiscard]] std::string_view buffered() const noexcept override;
    void consume(std::size_t bytes) noexcept override;
    task<bool> fill(io::deadline until = {}) override;
    task<bool> fill_more(io::deadline until = {}) override;
    [[nodiscard]] bool peer_closed() const noexcept override;
    [[nodiscard]] bool failed() const noexcept override;
    task<void> write(std::string_view bytes, io::deadline until = {}) override;
    task<void> write_owned(std::string bytes, io::deadline until = {}) override;
    bool try_write(std::string_view bytes) override;
    bool try_write_last(std::string_view bytes) override;
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept override;
    task<void> flush(io::deadline until = {}) override;
    [[nodiscard]] io::send_progress progress() const noexcept override;
    void shutdown_write() noexcept override;
    void abort() noexcept override;

private:
    static task<bool> grow(stream_takeover* self, std::size_t above, io::deadline until);
    static task<void> put(stream_takeover* self, std::string bytes, io::deadline until);
    void check_writable() const;
    void queue(std::string_view bytes);

    request_stream& of_;
};

} // namespace rota::http::h2
