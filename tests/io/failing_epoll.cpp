// The linker gives calls of epoll_ctl() to __wrap_epoll_ctl() (ld --wrap).

#include "failing_epoll.hpp"

#include <cerrno>

#include <sys/epoll.h>

namespace rota::io::test {
namespace {

std::atomic<failing_epoll*> present_epoll{nullptr};

} // namespace

failing_epoll::failing_epoll(int others) : left_(others) { present_epoll = this; }

failing_epoll::~failing_epoll() { present_epoll = nullptr; }

} // namespace rota::io::test

// NOLINTBEGIN: the names are the linker's
extern "C" {

int __real_epoll_ctl(int epoll, int what, int fd, epoll_event* event);
int __wrap_epoll_ctl(int epoll, int what, int fd, epoll_event* event);

int __wrap_epoll_ctl(int epoll, int what, int fd, epoll_event* event) {
    rota::io::test::failing_epoll* const watch = rota::io::test::present_epoll;
    if (watch == nullptr || !watch->fails())
        return __real_epoll_ctl(epoll, what, fd, event);
    errno = ENOMEM;
    return -1;
}

} // extern "C"
// NOLINTEND
