#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <rota/task.hpp>

namespace rota::io {

using deadline = std::optional<std::chrono::steady_clock::time_point>;

/// A duplex stream of bytes: a TCP or Unix connection, TLS over one, an in-memory pipe in tests.
///
/// One coroutine at a time reads and one (the same or another) writes; both belong to the worker
/// that the stream was made for. Every wait ends with operation_cancelled when the coroutine's stop
/// token is requested; bytes that arrived in the meantime stay in the stream. Failures of the
/// transport are std::system_error.
class stream {
public:
    virtual ~stream() = default;
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    // -- reading

    /// Bytes that have arrived and were not consumed: the first contiguous piece, so perhaps not
    /// all of them. The view is valid until consume(), fill() or fill_more().
    [[nodiscard]] virtual std::string_view buffered() const noexcept = 0;
    /// Drops the first `bytes` (<= buffered().size()) bytes.
    virtual void consume(std::size_t bytes) noexcept = 0;
    /// Waits until buffered() is not empty: true; at once if it is not empty already. False at the
    /// end of the stream. Throws timed_out when `until` passes first, std::system_error when the
    /// transport fails.
    virtual task<bool> fill(deadline until = {}) = 0;
    /// As fill(), but waits until buffered() has grown, if it is not empty already: what was there
    /// stays at its front, perhaps at another address. False at the end of the stream.
    virtual task<bool> fill_more(deadline until = {}) = 0;
    /// Whether the end of the stream or a failure has been seen on the receiving side.
    [[nodiscard]] virtual bool peer_closed() const noexcept = 0;

    // -- writing

    /// Queues a copy of `bytes`, which go out in order; ends as soon as all are queued. With more
    /// than the high-water mark queued it waits until the queue has fallen below the low-water
    /// mark: that is the back-pressure. Throws std::system_error (EPIPE, ECONNRESET, ...) if the
    /// transport has failed. With a stop requested before it nothing is queued; when a stop or a
    /// timeout ends the wait, the beginning of `bytes` or all of it has been queued and stays so.
    virtual task<void> write(std::string_view bytes) = 0;
    /// As write(), but takes the string over instead of copying it.
    virtual task<void> write_owned(std::string bytes) = 0;
    /// As write() without waiting: true if the bytes were queued; false, with nothing queued, where
    /// write() would wait or throw.
    virtual bool try_write(std::string_view bytes) = 0;
    /// Queues several pieces as if they were one (vectored write).
    virtual task<void> write_all(std::span<const std::string_view> pieces);
    /// Waits until the transport has taken everything that was queued.
    virtual task<void> flush() = 0;
    /// Half-close: the end of the stream follows the last queued byte. Reading goes on.
    virtual void shutdown_write() noexcept = 0;

    /// Ends both directions now; what is queued is dropped, the peer sees a reset.
    virtual void abort() noexcept = 0;

    // -- conveniences on top of the above

    /// At least one byte, at most `into.size()`; 0 at the end of the stream.
    task<std::size_t> read_some(std::span<char> into, deadline until = {});
    /// Fills `into`; returns fewer bytes only at the end of the stream. However it fails, nothing
    /// has been consumed; for that all of it is gathered first, so take large amounts by
    /// read_some().
    task<std::size_t> read_exactly(std::span<char> into, deadline until = {});
    /// Up to and including `delimiter` (not empty). At the end of the stream what is left, without
    /// a delimiter; nothing if nothing is left. Throws std::length_error for a piece of more than
    /// `max_bytes`. However it fails, nothing has been consumed.
    task<std::optional<std::string>> read_until(std::string delimiter,
                                                std::size_t max_bytes = 65536, deadline until = {});
    /// The next line without its LF or CRLF; the last one may lack them. Nothing at the end of the
    /// stream. Throws std::length_error for a line of more than `max_bytes`. However it fails,
    /// nothing has been consumed.
    task<std::optional<std::string>> read_line(std::size_t max_bytes = 65536, deadline until = {});
    /// Writes `line` and LF.
    task<void> write_line(std::string_view line);

protected:
    stream() = default;
};

} // namespace rota::io
