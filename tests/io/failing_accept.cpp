// The linker gives calls of accept4() to __wrap_accept4() (ld --wrap).

#include "failing_accept.hpp"

#include <cerrno>

#include <sys/socket.h>

namespace rota::io::test {
namespace {

std::atomic<failing_accept*> present_accept{nullptr};

} // namespace

failing_accept::failing_accept(const std::vector<int>& errors)
    : errors_(errors.begin(), errors.end()) {
    present_accept = this;
}

failing_accept::~failing_accept() { present_accept = nullptr; }

bool failing_accept::all_failed() const {
    const std::lock_guard guard(lock_);
    return errors_.empty();
}

int failing_accept::next() noexcept {
    ++calls_;
    const std::lock_guard guard(lock_);
    if (errors_.empty())
        return 0;
    const int error = errors_.front();
    errors_.pop_front();
    return error;
}

} // namespace rota::io::test

// NOLINTBEGIN: the names are the linker's
extern "C" {

int __real_accept4(int fd, sockaddr* address, socklen_t* length, int flags);
int __wrap_accept4(int fd, sockaddr* address, socklen_t* length, int flags);

int __wrap_accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
    rota::io::test::failing_accept* const watch = rota::io::test::present_accept;
    if (watch == nullptr)
        return __real_accept4(fd, address, length, flags);
    const int wanted = watch->next();
    const int result = wanted != 0 ? -1 : __real_accept4(fd, address, length, flags);
    if (wanted != 0)
        errno = wanted;
    if (result < 0)
        watch->note_failure(errno);
    return result;
}

} // extern "C"
// NOLINTEND
