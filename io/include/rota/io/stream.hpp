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

/// What happened to the bytes that were written to a stream, as far as is known.
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

    /// Waits for at least one byte and returns what has arrived; nothing at the end of the stream.
    ///
    ///     while (auto piece = co_await client.read())
    ///         co_await client.write(*piece);
    ///
    /// The view is valid until the next call that reads, of whatever kind. That call drops what the
    /// view shows, however it ends, except for what unread() has given back. Throws timed_out when
    /// `until` passes first, std::system_error when the transport fails.
    task<std::optional<std::string_view>> read(deadline until = {});
    /// Gives back the last `bytes` (<= its size) of the piece that the last read() returned, for
    /// the beginning of something that is not complete. The next read() waits until more has
    /// arrived, and returns both in one piece; any other call begins with these bytes. If the
    /// stream ends without more they stay in buffered(). The caller limits how much is gathered in
    /// this way.
    void unread(std::size_t bytes) noexcept;

    /// The calls below are for parsers, and for streams over this one: nothing is dropped except by
    /// consume(), and what read() returned is dropped by the next fill() or fill_more().

    /// Returns bytes that have arrived and were not consumed: the first contiguous piece, so
    /// perhaps not all of them. The view is valid until consume(), fill() or fill_more().
    [[nodiscard]] virtual std::string_view buffered() const noexcept = 0;
    /// Drops the first `bytes` (<= buffered().size()) bytes.
    virtual void consume(std::size_t bytes) noexcept = 0;
    /// Waits until buffered() is not empty; at once if it is not empty already. Returns true, or
    /// false at the end of the stream. Throws timed_out when `until` passes first,
    /// std::system_error when the transport fails.
    virtual task<bool> fill(deadline until = {}) = 0;
    /// Does what fill() does, but waits until buffered() has grown, if it is not empty already:
    /// what was there stays at its front, perhaps at another address. Returns false at the end of
    /// the stream.
    virtual task<bool> fill_more(deadline until = {}) = 0;
    /// Returns whether the end of the stream or a failure has been seen on the receiving side.
    [[nodiscard]] virtual bool peer_closed() const noexcept = 0;
    /// Returns whether the transport has failed in either direction, or was aborted: what is
    /// written will probably not arrive. A peer that has only ended its sending still reads. The
    /// default is peer_closed().
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
    /// nothing can be written after it any more, which would be taken for the rest; that throws
    /// std::system_error (ECANCELED). Reading goes on. Only abort() tells the peer.
    virtual task<void> write(std::string_view bytes, deadline until = {}) = 0;
    /// Does what write() does, but takes over the string instead of copying it, and so never queues
    /// a part.
    virtual task<void> write_owned(std::string bytes, deadline until = {}) = 0;
    /// Does what write_owned() does, with bytes that others may share: a socket sends them from
    /// where they are, and holds them until the kernel has taken them, or the stream has failed.
    /// Small ones (4 KiB) are better copied, by write().
    virtual task<void> write_shared(shared_bytes bytes, deadline until = {});
    /// Writes without waiting. Returns true if the bytes were queued; false, with nothing queued,
    /// where write() would wait or throw.
    virtual bool try_write(std::string_view bytes) = 0;
    /// Does what try_write() does, however much is queued already: for the few bytes that end a
    /// protocol, which a program says once and does not wait with. The default is try_write().
    virtual bool try_write_last(std::string_view bytes);
    /// Returns whether try_write() of `bytes` bytes would queue them now. False where that is not
    /// known.
    [[nodiscard]] virtual bool has_room(std::size_t /*bytes*/) const noexcept { return false; }
    /// Queues several pieces as if they were one (vectored write), as write_owned() does.
    virtual task<void> write_all(std::span<const std::string_view> pieces, deadline until = {});
    /// Queues bytes of a file, which go out in order after what was queued before, as with write();
    /// a socket does it without a copy in user space. Memory is constant however many they are, and
    /// they count as queued. If the file has changed (file_slice) before all of them have left, the
    /// connection is reset, which a later call finds out, and nothing complete has been sent. This
    /// call throws std::system_error (ESTALE) if it sees that itself.
    virtual task<void> write_file(file_slice part, deadline until = {});
    /// Queues `before` and then the bytes of a file if that needs no waiting. Returns false, with
    /// nothing queued, where write_file() would wait or throw, or the stream has no short way for
    /// files. The file should be in memory: see bring_in().
    virtual bool try_write_file(std::string_view before, const file_slice& part);
    /// Queues `before` and then the shared bytes if that needs no waiting. Returns false, with
    /// nothing queued, where write_shared() would wait or throw, or the stream has no short way for
    /// them.
    virtual bool try_write_shared(std::string_view before, const shared_bytes& bytes);
    /// Waits until the transport has taken everything that was queued. When `until` passes first it
    /// throws timed_out, and nothing has changed: what is queued goes on going out.
    virtual task<void> flush(deadline until = {}) = 0;
    /// Returns how far the peer has come with what was written; a system call. Zeros where that is
    /// not known.
    [[nodiscard]] virtual send_progress progress() const noexcept { return {}; }
    /// Half-closes: the end of the stream follows the last queued byte. Reading goes on.
    virtual void shutdown_write() noexcept = 0;

    /// Gives up memory that is there for the next bytes only, in either direction, in a stream that
    /// is silent. The next bytes allocate it anew.
    virtual void rest() noexcept {}

    /// Ends both directions now; what is queued is dropped, the peer sees a reset.
    virtual void abort() noexcept = 0;

    // -- conveniences on top of the above

    /// Reads at least one byte, at most `into.size()`, and returns how many; 0 at the end of the
    /// stream.
    task<std::size_t> read_some(std::span<char> into, deadline until = {});
    /// Fills `into`; returns fewer bytes only at the end of the stream. However it fails, nothing
    /// has been consumed; for that all of it is gathered first, so take large amounts by
    /// read_some().
    task<std::size_t> read_exactly(std::span<char> into, deadline until = {});
    /// Reads up to and including `delimiter` (not empty). At the end of the stream returns what is
    /// left, without a delimiter; nothing if nothing is left. Throws std::length_error for a piece
    /// of more than `max_bytes`. However it fails, nothing has been consumed.
    task<std::optional<std::string>> read_until(std::string delimiter,
                                                std::size_t max_bytes = 65536, deadline until = {});
    /// Returns the next line without its LF or CRLF; the last one may lack them. Nothing at the end
    /// of the stream. Throws std::length_error for a line of more than `max_bytes`. However it
    /// fails, nothing has been consumed.
    task<std::optional<std::string>> read_line(std::size_t max_bytes = 65536, deadline until = {});
    /// Writes `line` and LF, as write_owned() does.
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

    /// Drops what read() has shown. Call first in fill() and fill_more().
    void drop_shown() noexcept {
        if ((shown_ | seen_) != 0) [[unlikely]]
            drop_what_was_shown();
    }
    /// Notes that `bytes` of what read() has shown are dropped already. Call in consume().
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
