#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rota/http/limits.hpp>
#include <rota/http/metrics.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// A client's stream with a buffer in front of its writing side, where answers gather until they
/// are handed over together; counts bytes. Belongs to a session. A client that takes nothing for
/// the send timeout is reset: timed_out.
class wire {
public:
    /// All of them outlive it.
    wire(io::stream& stream, const server_limits& limits, worker_counters& counters) noexcept
        : stream_(stream), limits_(limits), counters_(counters) {}
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    [[nodiscard]] io::stream& stream() noexcept { return stream_; }
    [[nodiscard]] std::string_view buffered() const noexcept { return stream_.buffered(); }
    void consume(std::size_t bytes) noexcept {
        stream_.consume(bytes);
        counters_.bytes_received.add(bytes);
    }

    /// What is to be sent next; appended to by whoever has an answer.
    [[nodiscard]] std::string& pending() noexcept { return pending_; }
    /// Hands the pending bytes over if that needs no waiting; false if send() has to.
    [[nodiscard]] bool try_send();
    /// Hands the pending bytes over; afterwards there are none.
    [[nodiscard]] task<void> send();
    /// Sends what is pending, then `bytes`, without a copy of them in between. `bytes` outlive the
    /// task.
    [[nodiscard]] task<void> send(std::string_view bytes);
    [[nodiscard]] task<void> send_owned(std::string bytes);
    /// Waits until the transport has taken everything.
    [[nodiscard]] task<void> flush();
    /// Half-closes, and reads and drops what the client still sends, so that no reset overtakes the
    /// last answer (RFC 9112 section 9.6). Everything has been sent before.
    [[nodiscard]] task<void> linger();
    /// Whether the client has gone, as far as reading or writing has shown.
    [[nodiscard]] bool broken() const noexcept { return failed_ || stream_.peer_closed(); }
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

private:
    [[nodiscard]] task<void> in_time(task<void> writing);
    void count(std::size_t bytes) noexcept;
    void clear_pending() noexcept;

    io::stream& stream_;
    const server_limits& limits_;
    worker_counters& counters_;
    std::string pending_;
    std::uint64_t sent_ = 0;
    bool failed_ = false; // to send
};

} // namespace rota::http
