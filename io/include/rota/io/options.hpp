#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rota::io {

/// How rings are laid out over threads. The same connections, the same API.
enum class topology {
    automatic, ///< per_worker for one worker on one core, where a second thread only has to be
               ///< waited for; else split
    split, ///< one thread receives for all workers, one sends; idle workers' light work runs on the
           ///< receiving one
    per_worker, ///< each worker has rings of its own and sleeps in them
    dedicated,  ///< like split, but each thread keeps to its part: one only receives, one only
                ///< sends, and workers' work runs on the workers' own threads, always
};

/// What carries the bytes.
enum class backend_kind { automatic, io_uring, epoll };

[[nodiscard]] std::string_view to_string(topology t) noexcept;
[[nodiscard]] std::string_view to_string(backend_kind b) noexcept;

struct reactor_options {
    io::topology topology = topology::automatic;
    backend_kind backend = backend_kind::automatic;
    unsigned ring_entries = 1024;   ///< of each ring; halved while the kernel has no memory for it
    unsigned receive_buffers = 512; ///< per worker, a power of two up to 32768
    std::size_t receive_buffer_bytes = 8192;
    std::size_t high_water_bytes =
        std::size_t{256} * 1024; ///< queued output above which write() waits
    std::size_t low_water_bytes = std::size_t{64} * 1024; ///< and below which it continues
    /// Received and unconsumed bytes of one connection: no more are taken from the kernel until
    /// half of them are consumed. What fill_more() is asked to add to does not count.
    std::size_t max_unread_bytes = std::size_t{128} * 1024;
    /// Predicted cost up to which the receiving thread runs an idle worker's work itself (split).
    std::chrono::nanoseconds inline_budget = std::chrono::microseconds(30);
    /// Queued output from which on the sending thread is woken instead of sending at once (split).
    /// What is left when the socket is full goes out at once when it has room.
    std::size_t inline_send_bytes = std::size_t{512} * 1024;
    /// How long the peer of a closed connection may take nothing of what was written to it; then it
    /// is reset. Until all is taken the connection counts, also if the kernel has it all.
    std::chrono::milliseconds linger = std::chrono::seconds(10);
    /// A peer below this rate is not waited for much longer either. 0: no minimum.
    std::uint64_t linger_rate_min_bytes_per_s = 240;
};

} // namespace rota::io
