#pragma once

#include <system_error>

#include <liburing.h>

namespace rota::io {

/// A ring has at least so many entries.
inline constexpr unsigned ring_entries_min = 16;

/// The error of a liburing call that returned `negative_errno`.
[[nodiscard]] std::system_error uring_failure(int negative_errno, const char* what);

/// Sets a ring up, with half the entries as long as the kernel has no memory for more. Throws
/// std::system_error. Follow by tear_down_ring().
void set_up_ring(io_uring& ring, unsigned entries, unsigned flags, const char* what);
void tear_down_ring(io_uring& ring) noexcept;

/// Throws if the kernel does not know one of the operations that the two sides submit. How they
/// are used, several completions for one, is as old as the flags of the read side's ring.
void require_operations(io_uring& ring);

} // namespace rota::io
