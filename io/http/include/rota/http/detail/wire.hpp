#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/check.hpp>
#include <rota/http/limits.hpp>
#include <rota/http/metrics.hpp>
#include <rota/io/send_patience.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::http {

/// A client's stream with a buffer in front of its writing side, where answers gather until they
/// are handed over together; counts bytes. Belongs to a session. Each wait for the client ends: one
/// that takes nothing for the send timeout, or stays below the least rate, is reset: timed_out.
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
        ROTA_CHECK(bytes <= stream_.buffered().size(), "what is consumed has arrived, and once");
        stream_.consume(bytes);
        consumed_ += bytes;
        counters_.bytes_received.add(bytes);
    }

    /// Makes the stream another client's from here on. Nothing is pending.
    void begin() noexcept {
        consumed_ = 0;
        sent_ = 0;
        patience_.reset();
    }

    [[nodiscard]] std::uint64_t consumed() const noexcept { return consumed_; }

    /// Returns what is to be sent next; answers are appended to it.
    [[nodiscard]] std::string& pending() noexcept { return pending_; }
    /// Hands the pending bytes over if that needs no waiting; returns false if send() has to.
    [[nodiscard]] bool try_send();
    /// Does the same with `bytes` after them; of these nothing was queued if it returns false.
    [[nodiscard]] bool try_send(std::string_view bytes);
    /// Does the same however much is queued already (stream::try_write_last()).
    [[nodiscard]] bool try_send_last(std::string_view bytes);
    /// Returns whether try_send() of `bytes` would queue them now.
    [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
        return pending_.empty() && stream_.has_room(bytes);
    }
    /// Hands the pending bytes over; afterwards there are none. Deadlines are as those of
    /// io::stream: what could not be queued by then is still pending.
    [[nodiscard]] task<void> send(io::deadline until = {});
    /// Sends what is pending, then `bytes`, without a copy of them in between. `bytes` outlive the
    /// task.
    [[nodiscard]] task<void> send(std::string_view bytes, io::deadline until = {});
    /// Sends what is pending, then bytes of a file (stream::write_file()). `content` outlives the
    /// task.
    [[nodiscard]] task<void> send_file(const io::file_slice* content);
    /// Does the same if that needs no waiting; returns false, with nothing queued, if send_file()
    /// has to.
    [[nodiscard]] bool try_send_file(const io::file_slice& content);
    /// Sends what is pending, then shared bytes (stream::write_shared()).
    [[nodiscard]] task<void> send_shared(io::shared_bytes bytes, io::deadline until = {});
    /// Does the same if that needs no waiting; returns false, with nothing queued, if send_shared()
    /// has to.
    [[nodiscard]] bool try_send_shared(const io::shared_bytes& bytes);
    /// Does the same with `before` after what is pending: of both nothing was queued if it returns
    /// false.
    [[nodiscard]] bool try_send_shared(std::string_view before, const io::shared_bytes& bytes);
    [[nodiscard]] task<void> send_owned(std::string bytes, io::deadline until = {});
    /// Waits until the transport has taken everything.
    [[nodiscard]] task<void> flush(io::deadline until = {});
    /// Returns whether the client has yet to take a part of what was sent. It is reset, timed_out,
    /// if it has been too slow since this was first so. A system call.
    [[nodiscard]] bool still_takes();
    /// Half-closes, and reads and drops what the client still sends, so that no reset overtakes the
    /// last answer (RFC 9112 section 9.6), for `limit` at most. Everything has been sent before.
    [[nodiscard]] task<void> linger(std::chrono::milliseconds limit);
    /// Returns whether the client has gone, as far as reading or writing has shown. One that has
    /// only ended its sending waits for its answer.
    [[nodiscard]] bool broken() const noexcept { return stream_.failed(); }
    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
    /// Returns the same with what is pending.
    [[nodiscard]] std::uint64_t written() const noexcept { return sent_ + pending_.size(); }

private:
    [[nodiscard]] task<void> in_time(task<void> writing);
    [[nodiscard]] task<void> counted(task<void> writing, std::uint64_t size);
    void count(std::size_t bytes) noexcept;
    void clear_pending() noexcept;

    io::stream& stream_;
    const server_limits& limits_;
    worker_counters& counters_;
    std::string pending_;
    std::uint64_t consumed_ = 0;
    std::uint64_t sent_ = 0;
    std::optional<io::send_patience> patience_; // of still_takes()
};

} // namespace rota::http
