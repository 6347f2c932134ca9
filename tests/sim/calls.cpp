// The system calls that the code under test makes, by the linker's --wrap: those for simulated
// descriptors end in the network, time is the world's, and what is random comes from the seed. All
// others go where they always go.

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstring>
#include <ctime>
#include <mutex>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "network.hpp"
#include "simulation.hpp"

using sim::here;
using sim::memory;
using sim::network;
using sim::simulation;
using sim::world;

namespace {

network& net() { return simulation::here().net; }

/// A result as the system call returns it.
int returned(int result) {
    if (result >= 0)
        return result;
    errno = -result;
    return -1;
}

int tell_address(std::uint16_t port, sockaddr* address, socklen_t* length) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(address, &v4, std::min<std::size_t>(*length, sizeof v4));
    *length = sizeof v4;
    return 0;
}

} // namespace

// NOLINTBEGIN: the names are the linker's
extern "C" {

int __real_socket(int domain, int type, int protocol);
int __real_bind(int fd, const sockaddr* address, socklen_t length);
int __real_listen(int fd, int backlog);
int __real_accept4(int fd, sockaddr* address, socklen_t* length, int flags);
int __real_shutdown(int fd, int how);
int __real_close(int fd);
int __real_recvmmsg(int fd, mmsghdr* all, unsigned count, int flags, timespec* limit);
int __real_sendmmsg(int fd, mmsghdr* all, unsigned count, int flags);
int __real_setsockopt(int fd, int level, int name, const void* value, socklen_t length);
int __real_getsockname(int fd, sockaddr* address, socklen_t* length);
int __real_getpeername(int fd, sockaddr* address, socklen_t* length);
int __real_fcntl(int fd, int command, ...);
long __real_syscall(long number, ...);
ssize_t __real_preadv64v2(int fd, const iovec* into, int count, off64_t at, int flags);
ssize_t __real_getrandom(void* buffer, size_t bytes, unsigned flags);
time_t __real_time(time_t* out);
std::int64_t __real__ZNSt6chrono3_V212steady_clock3nowEv();
int __real_setpriority(__priority_which_t which, id_t who, int nice);
void __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* c, std::unique_lock<std::mutex>* held);
void __real__ZNSt18condition_variable10notify_oneEv(std::condition_variable* c);
void __real__ZNSt18condition_variable10notify_allEv(std::condition_variable* c);

int __wrap_socket(int domain, int type, int protocol);
int __wrap_bind(int fd, const sockaddr* address, socklen_t length);
int __wrap_listen(int fd, int backlog);
int __wrap_accept4(int fd, sockaddr* address, socklen_t* length, int flags);
int __wrap_shutdown(int fd, int how);
int __wrap_close(int fd);
int __wrap_recvmmsg(int fd, mmsghdr* all, unsigned count, int flags, timespec* limit);
int __wrap_sendmmsg(int fd, mmsghdr* all, unsigned count, int flags);
int __wrap_setsockopt(int fd, int level, int name, const void* value, socklen_t length);
int __wrap_getsockname(int fd, sockaddr* address, socklen_t* length);
int __wrap_getpeername(int fd, sockaddr* address, socklen_t* length);
int __wrap_fcntl(int fd, int command, ...);
long __wrap_syscall(long number, ...);
ssize_t __wrap_preadv64v2(int fd, const iovec* into, int count, off64_t at, int flags);
ssize_t __wrap_getrandom(void* buffer, size_t bytes, unsigned flags);
time_t __wrap_time(time_t* out);
std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv();
int __wrap_setpriority(__priority_which_t which, id_t who, int nice);
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* c, std::unique_lock<std::mutex>* held);
void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* c);
void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* c);

int __wrap_socket(int domain, int type, int protocol) {
    const memory::ample kernel;
    if (world::find() == nullptr || domain == AF_UNIX)
        return __real_socket(domain, type, protocol);
    return net().open_socket((type & SOCK_DGRAM) != 0);
}

int __wrap_bind(int fd, const sockaddr* address, socklen_t length) {
    const memory::ample kernel;
    if (!network::is_mine(fd))
        return __real_bind(fd, address, length);
    sockaddr_in v4{};
    std::memcpy(&v4, address, std::min<std::size_t>(length, sizeof v4));
    return returned(net().bind(fd, ntohs(v4.sin_port)));
}

int __wrap_listen(int fd, int backlog) {
    const memory::ample kernel;
    return network::is_mine(fd) ? returned(net().listen(fd)) : __real_listen(fd, backlog);
}

int __wrap_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
    const memory::ample kernel;
    if (!network::is_mine(fd))
        return __real_accept4(fd, address, length, flags);
    return returned(net().accept(fd));
}

int __wrap_shutdown(int fd, int how) {
    const memory::ample kernel;
    return network::is_mine(fd) ? returned(net().shutdown(fd, how)) : __real_shutdown(fd, how);
}

int __wrap_close(int fd) {
    const memory::ample kernel;
    return network::is_mine(fd) ? returned(net().close(fd)) : __real_close(fd);
}

int __wrap_setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
    const memory::ample kernel;
    if (!network::is_mine(fd))
        return __real_setsockopt(fd, level, name, value, length);
    net().find(fd, "setsockopt");
    if (level == SOL_SOCKET && name == SO_REUSEPORT)
        net().share(fd);
    return 0;
}

int __wrap_recvmmsg(int fd, mmsghdr* all, unsigned count, int flags, timespec* limit) {
    const memory::ample kernel;
    if (!network::is_mine(fd))
        return __real_recvmmsg(fd, all, count, flags, limit);
    return returned(simulation::here().post.receive(fd, all, count));
}

int __wrap_sendmmsg(int fd, mmsghdr* all, unsigned count, int flags) {
    const memory::ample kernel;
    if (!network::is_mine(fd))
        return __real_sendmmsg(fd, all, count, flags);
    return returned(simulation::here().post.send(fd, all, count));
}

int __wrap_getsockname(int fd, sockaddr* address, socklen_t* length) {
    const memory::ample kernel;
    if (!network::is_mine(fd))
        return __real_getsockname(fd, address, length);
    return tell_address(net().find(fd, "getsockname")->port, address, length);
}

int __wrap_getpeername(int fd, sockaddr* address, socklen_t* length) {
    const memory::ample kernel;
    if (!network::is_mine(fd))
        return __real_getpeername(fd, address, length);
    const sim::link& l = *net().find(fd, "getpeername")->connected;
    if (l.reset_by_client || l.aborted)
        return returned(-ENOTCONN);
    return tell_address(l.client_port, address, length);
}

int __wrap_fcntl(int fd, int command, ...) {
    const memory::ample kernel;
    std::va_list rest;
    va_start(rest, command);
    const long argument = va_arg(rest, long);
    va_end(rest);
    if (!network::is_mine(fd))
        return __real_fcntl(fd, command, argument);
    net().find(fd, "fcntl");
    return 0;
}

long __wrap_syscall(long number, ...) {
    const memory::ample kernel;
    long arguments[6];
    std::va_list rest;
    va_start(rest, number);
    for (long& argument : arguments)
        argument = va_arg(rest, long);
    va_end(rest);
    const int fd = static_cast<int>(arguments[0]);
    if (number == SYS_connect && network::is_mine(fd))
        return returned(net().dissolve(fd));
    return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                          arguments[4], arguments[5]);
}

// Files are in memory, which has not all of them, or not as much as is asked for.
ssize_t __wrap_preadv64v2(int fd, const iovec* into, int count, off64_t at, int flags) {
    const memory::ample kernel;
    if (world::find() == nullptr || (flags & RWF_NOWAIT) == 0)
        return __real_preadv64v2(fd, into, count, at, flags);
    if (here().rng().chance(200))
        return returned(-EAGAIN);
    iovec some = *into;
    if (some.iov_len > 1 && here().rng().chance(200))
        some.iov_len = here().rng().between(1, some.iov_len);
    return __real_preadv64v2(fd, &some, 1, at, flags & ~RWF_NOWAIT);
}

ssize_t __wrap_getrandom(void* buffer, size_t bytes, unsigned flags) {
    const memory::ample kernel;
    if (world::find() == nullptr)
        return __real_getrandom(buffer, bytes, flags);
    auto* const out = static_cast<unsigned char*>(buffer);
    for (size_t i = 0; i < bytes; ++i)
        out[i] = static_cast<unsigned char>(here().rng().next() >> 56);
    return static_cast<ssize_t>(bytes);
}

time_t __wrap_time(time_t* out) {
    const memory::ample kernel;
    if (world::find() == nullptr)
        return __real_time(out);
    const auto since = here().now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

// std::chrono::steady_clock::now(), whose result is one number of nanoseconds.
std::int64_t __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
    const memory::ample kernel;
    if (world::find() == nullptr)
        return __real__ZNSt6chrono3_V212steady_clock3nowEv();
    return here().read_clock().time_since_epoch().count();
}

int __wrap_setpriority(__priority_which_t which, id_t who, int nice) {
    return world::find() == nullptr ? __real_setpriority(which, who, nice) : 0;
}

// What waits for a condition is another fiber's, too. Whatever is told wakes all of them, as it
// may.

void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(
    std::condition_variable* c, std::unique_lock<std::mutex>* held) {
    const memory::ample kernel;
    if (world::find() == nullptr)
        return __real__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(c, held);
    const std::uint64_t& told = simulation::here().told[c];
    held->unlock();
    here().wait("a condition", [&told, before = told] { return told != before; });
    held->lock();
}

void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* c) {
    const memory::ample kernel;
    if (world::find() == nullptr)
        return __real__ZNSt18condition_variable10notify_oneEv(c);
    ++simulation::here().told[c];
}

void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* c) {
    const memory::ample kernel;
    if (world::find() == nullptr)
        return __real__ZNSt18condition_variable10notify_allEv(c);
    ++simulation::here().told[c];
}

} // extern "C"
// NOLINTEND
