#include "end_signals.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <stop_token>
#include <utility>

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace rota_http {
namespace {

/// For the thread of the log to write its last line; nobody waits for whoever reads it.
constexpr std::chrono::milliseconds last_line{100};

sigset_t ending_signals() noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGTERM);
    struct sigaction now {};
    if (::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
        ::sigaddset(&set, SIGHUP);
    return set;
}

/// The number of a signal, or -1 if none has come until then.
int await(const sigset_t& set, std::chrono::steady_clock::time_point until) noexcept {
    using namespace std::chrono;
    if (until == steady_clock::time_point::max())
        return ::sigwaitinfo(&set, nullptr);
    const auto rest = std::max(nanoseconds(0), until - steady_clock::now()).count();
    const timespec limit{.tv_sec = rest / 1'000'000'000, .tv_nsec = rest % 1'000'000'000};
    return ::sigtimedwait(&set, nullptr, &limit);
}

[[noreturn]] void give_up() {
    spdlog::critical("something does not let go of its thread: the end does not wait for it");
    std::this_thread::sleep_for(last_line);
    ::_exit(1);
}

} // namespace

end_signals::end_signals(std::chrono::milliseconds drain_timeout)
    : drain_timeout_(drain_timeout),
      thread_([this](const std::stop_token& ending) { listen(ending); }) {}

end_signals::~end_signals() {
    thread_.request_stop();
    ::pthread_kill(thread_.native_handle(), SIGINT); // ends its wait
}

void end_signals::call(std::function<void()> drain) {
    const std::lock_guard guard(lock_);
    drain_ = std::move(drain);
    for (int i = 0; i < signals_ && drain_; ++i)
        drain_();
}

void end_signals::pass_on() {
    const std::lock_guard guard(lock_);
    signals_ = std::min(signals_ + 1, 2); // a third one is no more than a second
    if (drain_)
        drain_();
}

void end_signals::listen(const std::stop_token& ending) {
    ::pthread_setname_np(::pthread_self(), "rota-end");
    const sigset_t set = ending_signals();
    auto deadline = clock::time_point::max();
    for (;;) {
        const int number = await(set, deadline);
        if (ending.stop_requested())
            return;
        if (number > 0) {
            const bool first = deadline == clock::time_point::max();
            spdlog::info("signal {}: draining", number);
            deadline = std::min(deadline, clock::now() + grace +
                                              (first ? drain_timeout_ : clock::duration(0)));
            pass_on();
        } else if (clock::now() >= deadline) {
            give_up();
        }
    }
}

} // namespace rota_http
