#include "address.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/time.h>
#include <unistd.h>

namespace pace {
namespace {

constexpr timeval connect_timeout{.tv_sec = 5, .tv_usec = 0};

} // namespace

address::address(const std::string& host, const std::string& port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (error != 0)
        throw std::runtime_error(host + ": " + ::gai_strerror(error));
    std::memcpy(&storage_, found->ai_addr, found->ai_addrlen);
    size_ = found->ai_addrlen;
    ::freeaddrinfo(found);
}

int address::connect() const {
    const int fd = ::socket(storage_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        throw std::system_error(errno, std::system_category(), "socket");
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &connect_timeout, sizeof connect_timeout);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&storage_), size_) != 0 ||
        ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        const int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
        ::close(fd);
        throw std::system_error(error, std::system_category(), "cannot connect");
    }
    return fd;
}

} // namespace pace
