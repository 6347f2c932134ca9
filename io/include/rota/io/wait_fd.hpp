#pragma once

#include <cstdint>

#include <rota/io/context.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

namespace rota::io {

/// Waits until `fd` is ready for one of `events` (POLLIN, POLLOUT; man 2 poll) and returns what it
/// is ready for, POLLERR and POLLHUP included. For descriptors of other libraries; `fd` must stay
/// open until the wait has ended, and with epoll at most one routine may wait for each direction of
/// it. Throws std::system_error (EBADF, ...), operation_cancelled, timed_out.
task<std::uint32_t> wait_fd(context& ctx, int fd, std::uint32_t events, deadline until = {});

} // namespace rota::io
