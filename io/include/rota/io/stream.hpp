#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <rota/io/shared_bytes.hpp>
#include <rota/io/shared_file.hpp>
#include <rota/task.hpp>

namespace rota::io {

using deadline = std::optional<std::chrono::steady_clock::time_point>;

/// What has become of the bytes that were written to a stream, as far as it can tell.
struct send_progress {
    std::uint64_t taken = 0; ///< by the peer
    std::uint64_t left = 0;  ///< on their way: queued, or in the kernel
};

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

    /// What has arrived, at least one byte; waits for it. Nothing at the end of the stream.
    ///
    ///     while (auto piece = co_await client.read())
    ///         co_await client.write(*piece);
    ///
    /// The view is valid until the next call that reads, of whatever kind, which drops what it
    /// shows, however that call ends; but for what unread() has given back. Throws timed_out when
    /// `until` passes first, std::system_error when the transport fails.
    task<std::optional<std::string_view>> read(deadline until = {});
    /// Gives the last `bytes` (<= its size) of the piece that read() has shown last back, for the
    /// beginning of something that is not complete. The next read() waits until more has arrived,
    /// and shows both in one piece; another call begins with these bytes. If the stream ends
    /// without more they stay in buffered(). The caller limits how much is gathered in this way.
    void unread(std::size_t bytes) noexcept;

    /// What follows is for parsers, and for streams over this one: nothing is dropped but by
    /// consume(), and what read() returned is dropped by the next fill() or fill_more().

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
    /// Whether the transport has failed in either direction, or was aborted: what is written will
    /// hardly arrive. A peer that has only ended its sending still reads. By itself it is
    /// peer_closed().
    [[nodiscard]] virtual bool failed() const noexcept { return peer_closed(); }

    // -- writing

    /// Queues a copy of `bytes`, which go out in order; ends as soon as all are queued. With more
    /// than the high-water mark queued it waits until the queue has fallen below the low-water
    /// mark: that is the back-pressure. Throws std::system_error (EPIPE, ECONNRESET, ...) if the
    /// transport has failed. With a stop requested before it nothing is queued; when a stop, or a
    /// timeout around it, ends the wait, all of `bytes` have been queued and stay so, or the
    /// beginning if they are more than 64 KiB.
    ///
    /// With a deadline it waits for room before it queues, and ends once all are queued. When
    /// `until` passes first it throws timed_out. Of up to 64 KiB nothing has been queued then: what
    /// was queued before goes out, and the stream is as it was before the call. Of more the
    /// beginning may have been.
    ///
    /// A stream of which only the beginning has been queued is cut: what is queued goes out, and
    /// nothing can be written behind it any more, which would be taken for the rest; that throws
    /// std::system_error (ECANCELED). Reading goes on. Only abort() tells the peer.
    virtual task<void> write(std::string_view bytes, deadline until = {}) = 0;
    /// As write(), but takes the string over instead of copying it, and so never queues a part.
    virtual task<void> write_owned(std::string bytes, deadline until = {}) = 0;
    /// As write_owned(), with bytes that others may share: a socket sends them from where they are,
    /// and holds them until the kernel has taken them, or the stream has failed. Small ones (4 KiB)
    /// are better copied, by write().
    virtual task<void> write_shared(shared_bytes bytes, deadline until = {});
    /// As write() without waiting: true if the bytes were queued; false, with nothing queued, where
    /// write() would wait or throw.
    virtual bool try_write(std::string_view bytes) = 0;
    /// As try_write(), however much is queued already: for the few bytes that end a protocol, which
    /// a program says once and does not wait with. By itself it is try_write().
    virtual bool try_write_last(std::string_view bytes);
    /// Whether try_write() of so many bytes would queue them now. False where that is not known.
    [[nodiscard]] virtual bool has_room(std::size_t /*bytes*/) const noexcept { return false; }
    /// Queues several pieces as if they were one (vectored write): as write_owned().
    virtual task<void> write_all(std::span<const std::string_view> pieces, deadline until = {});
    /// Queues bytes of a file, which go out in order behind what was queued before, as write(): by
    /// a socket without a copy in user space. Memory is constant however many they are, and they
    /// count as queued. Where the file is no more what it was (file_slice) before all of them have
    /// left, the connection is reset, which a later call finds out, and nothing complete has been
    /// sent. This call throws std::system_error (ESTALE) if it sees it itself.
    virtual task<void> write_file(file_slice part, deadline until = {});
    /// Queues `before` and the bytes of a file behind it if that needs no waiting: false, with
    /// nothing queued, where write_file() would wait or throw, or the stream has no short way for
    /// files. The file should be in memory: see bring_in().
    virtual bool try_write_file(std::string_view before, const file_slice& part);
    /// Queues `before` and the shared bytes behind it if that needs no waiting: false, with nothing
    /// queued, where write_shared() would wait or throw, or the stream has no short way for them.
    virtual bool try_write_shared(std::string_view before, const shared_bytes& bytes);
    /// Waits until the transport has taken everything that was queued. When `until` passes first it
    /// throws timed_out, and nothing has changed: what is queued goes on going out.
    virtual task<void> flush(deadline until = {}) = 0;
    /// How far the peer has come with what was written; a system call. Zeros where that is not
    /// known.
    [[nodiscard]] virtual send_progress progress() const noexcept { return {}; }
    /// Half-close: the end of the stream follows the last queued byte. Reading goes on.
    virtual void shutdown_write() noexcept = 0;

    /// Gives up what memory there is for the next bytes only, in either direction: for a stream
    /// that is silent. They make it anew.
    virtual void rest() noexcept {}

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
    /// Writes `line` and LF, as write_owned().
    task<void> write_line(std::string_view line, deadline until = {});

protected:
    stream() = default;
    stream(stream&& other) noexcept
        : shown_(std::exchange(other.shown_, 0)), seen_(std::exchange(other.seen_, 0)) {}
    stream& operator=(stream&& other) noexcept {
        shown_ = std::exchange(other.shown_, 0);
        seen_ = std::exchange(other.seen_, 0);
        return *this;
    }

    /// Drops what read() has shown: first in fill() and fill_more().
    void drop_shown() noexcept {
        if ((shown_ | seen_) != 0) [[unlikely]]
            drop_what_was_shown();
    }
    /// So much of what read() has shown is dropped already: in consume().
    void forget_shown(std::size_t bytes) noexcept {
        if ((shown_ | seen_) != 0) [[unlikely]] {
            shown_ -= bytes < shown_ ? bytes : shown_;
            seen_ -= bytes < seen_ ? bytes : seen_;
        }
    }

private:
    void drop_what_was_shown() noexcept;

    std::size_t shown_ = 0; // at the front of buffered(), by the last read()
    std::size_t seen_ = 0;  // there too, given back by unread()
};

} // namespace rota::io
