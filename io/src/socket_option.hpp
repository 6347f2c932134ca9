#pragma once

#include <sys/socket.h>

namespace rota::io {

/// True if the kernel takes it (setsockopt(2)); else errno says why not.
inline bool set_option(int fd, int level, int name, int value) noexcept {
    return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

} // namespace rota::io
