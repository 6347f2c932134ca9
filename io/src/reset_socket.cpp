#include "reset_socket.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rota::io {

void reset_socket(int fd) noexcept {
    // With a linger time of zero, close(2) sends no FIN (man 7 socket).
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    sockaddr nowhere{};
    nowhere.sa_family = AF_UNSPEC; // dissolves the association of a TCP socket (man 2 connect)
    // A bare call: ThreadSanitizer takes connect() for the making of the descriptor, on which
    // another thread may be receiving.
    if (::syscall(SYS_connect, fd, &nowhere, sizeof nowhere) != 0)
        ::shutdown(fd, SHUT_RDWR);
}

} // namespace rota::io
