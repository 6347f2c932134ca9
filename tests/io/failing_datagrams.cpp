// The linker gives calls of recvmmsg() and sendmmsg() to the functions below (ld --wrap).

#include "failing_datagrams.hpp"

#include <ctime>

namespace rota::io::test {
namespace {

std::atomic<failing_datagrams*> present_datagrams{nullptr};

} // namespace

failing_datagrams::failing_datagrams(std::initializer_list<int> receive_errors,
                                     std::initializer_list<int> send_errors)
    : receive_errors_(receive_errors), send_errors_(send_errors) {
    present_datagrams = this;
}

failing_datagrams::~failing_datagrams() { present_datagrams = nullptr; }

bool failing_datagrams::all_failed() const {
    const std::lock_guard guard(lock_);
    return receive_errors_.empty() && send_errors_.empty();
}

int failing_datagrams::next(std::deque<int>& errors) noexcept {
    const std::lock_guard guard(lock_);
    if (errors.empty())
        return 0;
    const int error = errors.front();
    errors.pop_front();
    return error;
}

int failing_datagrams::next_send(const mmsghdr* first) noexcept {
    if (holds)
        return EAGAIN;
    if (const int error = next(send_errors_); error != 0)
        return error;
    if (!no_rows || first->msg_hdr.msg_controllen == 0)
        return 0;
    ++rows;
    return EINVAL;
}

void failing_datagrams::note_sent(const mmsghdr* all, int count) noexcept {
    for (int i = 0; i < count; ++i)
        rows += all[i].msg_hdr.msg_controllen != 0 ? 1 : 0;
}

} // namespace rota::io::test

// NOLINTBEGIN: the names are the linker's
extern "C" {

int __real_recvmmsg(int fd, mmsghdr* all, unsigned count, int flags, timespec* limit);
int __real_sendmmsg(int fd, mmsghdr* all, unsigned count, int flags);
int __wrap_recvmmsg(int fd, mmsghdr* all, unsigned count, int flags, timespec* limit);
int __wrap_sendmmsg(int fd, mmsghdr* all, unsigned count, int flags);

int __wrap_recvmmsg(int fd, mmsghdr* all, unsigned count, int flags, timespec* limit) {
    rota::io::test::failing_datagrams* const watch = rota::io::test::present_datagrams;
    if (const int error = watch != nullptr ? watch->next_receive() : 0; error != 0) {
        errno = error;
        return -1;
    }
    return __real_recvmmsg(fd, all, count, flags, limit);
}

int __wrap_sendmmsg(int fd, mmsghdr* all, unsigned count, int flags) {
    rota::io::test::failing_datagrams* const watch = rota::io::test::present_datagrams;
    if (const int error = watch != nullptr ? watch->next_send(all) : 0; error != 0) {
        errno = error;
        return -1;
    }
    if (watch != nullptr && watch->no_rows) // rows behind the first fail when it is their turn
        count = 1;
    const int sent = __real_sendmmsg(fd, all, count, flags);
    if (watch != nullptr)
        watch->note_sent(all, sent);
    return sent;
}

} // extern "C"
// NOLINTEND
