#include <rota/quiet_thread.hpp>

#include <csignal>
#include <initializer_list>
#include <utility>

#include <pthread.h>

namespace rota {
namespace {

/// Blocks signals on this thread as long as it lives; not those by which a fault shows.
class blocked_signals {
public:
    blocked_signals() noexcept {
        sigset_t blocked;
        ::sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
            ::sigdelset(&blocked, fault);
        }
        ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

} // namespace

std::jthread start_quiet_thread(const std::string& name, std::function<void()> body) {
    const blocked_signals inherited;
    std::jthread thread(std::move(body));
    ::pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
    return thread;
}

} // namespace rota
