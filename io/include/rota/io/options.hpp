#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace rota::io {

/// How rings are laid out over threads. The same connections, the same API.
enum class topology {
    split, ///< one thread receives for all workers, one sends; idle workers' light work runs on the
           ///< receiving one
    per_worker, ///< each worker has rings of its own and sleeps in them
};

/// What carries the bytes.
enum class backend_kind { automatic, io_uring, epoll };

[[nodiscard]] std::string_view to_string(topology t) noexcept;
[[nodiscard]] std::string_view to_string(backend_kind b) noexcept;

struct reactor_options {
    io::topology topology = topology::split;
    backend_kind backend = backend_kind::automatic;
    unsigned ring_entries = 1024;   ///< of each ring; halved while the kernel has no memory for it
    unsigned receive_buffers = 512; ///< per worker, a power of two up to 32768
    std::size_t receive_buffer_bytes = 8192;
    std::size_t high_water_bytes =
        std::size_t{256} * 1024; ///< queued output above which write() waits
    std::size_t low_water_bytes = std::size_t{64} * 1024; ///< and below which it goes on
    /// Received and unconsumed bytes of one connection above which its receiving pauses.
    std::size_t max_unread_bytes = std::size_t{128} * 1024;
    /// Predicted cost up to which the receiving thread runs an idle worker's work itself.
    std::chrono::nanoseconds inline_budget = std::chrono::microseconds(30);
    /// Queued output from which on the sending thread is woken instead of sending on the spot.
    std::size_t inline_send_bytes = std::size_t{512} * 1024;
    /// How long a closed connection may take to get rid of its queued output.
    std::chrono::milliseconds linger = std::chrono::seconds(10);
};

} // namespace rota::io
