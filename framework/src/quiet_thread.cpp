#include <rota/detail/quiet_thread.hpp>

#include <csignal>
#include <initializer_list>
#include <thread>
#include <utility>

#include <pthread.h>

namespace rota {
namespace {

thread_local const void* started_for = nullptr;

/// Blocks signals on this thread as long as it lives; not those by which a fault shows, nor the one
/// by which stack_trace.hpp asks a thread where it is.
class blocked_signals {
public:
    blocked_signals() noexcept {
        sigset_t blocked;
        ::sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGURG}) {
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

struct quiet_thread::running {
    std::jthread thread;
};

quiet_thread::quiet_thread() noexcept = default;
quiet_thread::quiet_thread(quiet_thread&& other) noexcept = default;
quiet_thread& quiet_thread::operator=(quiet_thread&& other) noexcept = default;
quiet_thread::~quiet_thread() = default;

void quiet_thread::join() {
    running_->thread.join();
    running_.reset();
}

const void* quiet_thread::purpose() noexcept { return started_for; }

quiet_thread start_quiet_thread(const std::string& name, std::function<void()> body,
                                const void* purpose) {
    const blocked_signals inherited;
    quiet_thread started;
    // First all that may fail: a thread that runs already would have to be waited for.
    started.running_ = std::make_unique<quiet_thread::running>();
    started.running_->thread =
        std::jthread([known_as = name.substr(0, 15), run = std::move(body), purpose] {
            ::pthread_setname_np(::pthread_self(), known_as.c_str());
            started_for = purpose;
            run();
        });
    return started;
}

} // namespace rota
