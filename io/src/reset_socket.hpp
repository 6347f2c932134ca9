#pragma once

namespace rota::io {

/// The peer of a stream socket sees a reset now, or, through a Unix socket, the end of the stream;
/// a receive that is under way ends. The descriptor stays. Any thread.
void reset_socket(int fd) noexcept;

} // namespace rota::io
