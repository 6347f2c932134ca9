#include <rota/io/signals.hpp>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <stdexcept>
#include <string>
#include <system_error>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rota/io/wait_fd.hpp>

namespace rota::io {

signal_set::signal_set(std::initializer_list<int> signals) {
    if (signals.size() == 0)
        throw std::invalid_argument("signal_set: no signal to wait for");
    ::sigemptyset(&mask_);
    for (const int s : signals) {
        if (s == SIGKILL || s == SIGSTOP || ::sigaddset(&mask_, s) != 0)
            throw std::invalid_argument("signal_set: " + std::to_string(s) +
                                        " is no signal that can be waited for");
    }
    fd_ = ::signalfd(-1, &mask_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd_ < 0)
        throw std::system_error(errno, std::system_category(), "signalfd");
    ::pthread_sigmask(SIG_BLOCK, &mask_, &before_);
}

signal_set::~signal_set() {
    // What nobody has taken must not strike now: a second Ctrl-C ends in the same way as the first.
    sigset_t unblocked = mask_;
    for (int s = 1; s < NSIG; ++s) {
        if (::sigismember(&before_, s) == 1)
            ::sigdelset(&unblocked, s);
    }
    const timespec at_once{};
    while (::sigtimedwait(&unblocked, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    ::close(fd_);
}

task<int> signal_set::next(context& ctx) {
    for (;;) {
        signalfd_siginfo info{};
        const ssize_t got = ::read(fd_, &info, sizeof info);
        if (got == static_cast<ssize_t>(sizeof info))
            co_return static_cast<int>(info.ssi_signo);
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            throw std::system_error(errno, std::system_category(), "signalfd");
        }
        co_await wait_fd(ctx, fd_, POLLIN);
    }
}

} // namespace rota::io
