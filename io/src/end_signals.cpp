#include <rota/io/end_signals.hpp>

#include <rota/io/log.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <utility>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rota/time_span.hpp>

namespace rota::io {
namespace {

/// For the last line of the log, which a thread of the logger's may have to write; the end does not
/// wait for the reader of it.
constexpr std::chrono::milliseconds last_line{500};

sigset_t signals_taken(end_signals::hangups what) noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGTERM);
    struct sigaction now {};
    if (what == end_signals::hangups::call ||
        (::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN))
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

constexpr std::array<int, 3> numbers{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> there_is_one{false};
std::atomic<pid_t> signal_thread{0}; // a thread's number; 0: none listens yet

/// A handler (man 7 signal-safety).
extern "C" void hand_on(int number) {
    const int error = errno;
    // If it is gone, so is the signal.
    ::syscall(SYS_tgkill, ::getpid(), signal_thread.load(), number);
    errno = error;
}

} // namespace

end_signals::alone::alone() {
    if (there_is_one.exchange(true))
        throw std::logic_error("end_signals: one at a time, and serve() has one");
}

end_signals::alone::~alone() { there_is_one = false; }

end_signals::handed_on::handed_on(const sigset_t& which) noexcept : which_(which) {
    struct sigaction handler {};
    handler.sa_handler = hand_on;
    handler.sa_flags = SA_RESTART;
    ::sigfillset(&handler.sa_mask);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (::sigismember(&which_, numbers[i]) == 1)
            ::sigaction(numbers[i], &handler, &before_[i]);
    }
}

end_signals::handed_on::~handed_on() {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (::sigismember(&which_, numbers[i]) == 1)
            ::sigaction(numbers[i], &before_[i], nullptr);
    }
}

end_signals::blocked::blocked(hangups what) : set_(signals_taken(what)) {
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

end_signals::blocked::~blocked() {
    // What nobody has taken must not strike now: a second Ctrl-C ends in the same way as the first.
    sigset_t unblocked = set_;
    for (const int s : numbers) {
        if (::sigismember(&before_, s) == 1)
            ::sigdelset(&unblocked, s);
    }
    const timespec at_once{};
    while (::sigtimedwait(&unblocked, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

end_signals::end_signals(std::chrono::milliseconds drain_timeout, hangups what)
    : drain_timeout_(at_most_ten_years(drain_timeout)), hangups_(what), blocked_(what),
      thread_([this](const std::stop_token& ending) { listen(ending); }) {
    signal_thread.wait(0);
    handed_on_.emplace(blocked_.set());
}

end_signals::~end_signals() {
    call({});
    handed_on_.reset();
    thread_.request_stop();
    ::pthread_kill(thread_.native_handle(), SIGINT); // ends its wait
    thread_.join();
    signal_thread = 0;
}

void end_signals::call(std::function<void()> drain) {
    std::vector<std::jthread> telling; // is joined; should the log hang, the deadline still stands
    const std::lock_guard guard(lock_);
    drain_ = std::move(drain);
    for (int i = 0; i < signals_ && drain_; ++i)
        drain_();
    if (!drain_)
        telling.swap(telling_);
}

void end_signals::call_on_hangup(std::function<void()> hangup) {
    if (hangups_ != hangups::call)
        throw std::logic_error(
            "end_signals: SIGHUP ends the program, unless hangups::call is given");
    const std::lock_guard guard(hangup_lock_);
    hangup_ = std::move(hangup);
    if (hangup_ && std::exchange(hung_up_, false))
        hangup_();
}

void end_signals::hang_up() {
    const std::lock_guard guard(hangup_lock_);
    if (hangup_) {
        hangup_();
    } else {
        hung_up_ = true;
    }
}

void end_signals::pass_on(int number) {
    const std::lock_guard guard(lock_);
    if (signals_ == 2)
        return; // a third one is no more than a second
    ++signals_;
    try {
        telling_.reserve(2); // a thread that there is no room for would be waited for
        telling_.emplace_back([number, first = signals_ == 1] {
            if (first) {
                log::info("signal {}: draining", number);
            } else {
                log::info("signal {}: cancelling what is still at work; the process ends "
                          "within {} s",
                          number, grace.count());
            }
        });
    } catch (const std::exception&) { // no thread to be had: the end matters more
    }
    if (drain_)
        drain_();
}

void end_signals::give_up() noexcept {
    // Nobody waits for what hangs; unless it is a drain that does, with the lock.
    if (const std::unique_lock guard(lock_, std::try_to_lock); guard) {
        for (std::jthread& t : telling_)
            t.detach();
    }
    try {
        std::thread([] {
            log::critical("something does not let go of its thread: the end does not wait for it");
        }).detach();
        std::this_thread::sleep_for(last_line);
    } catch (const std::exception&) { // no thread to be had
    }
    ::_exit(1);
}

void end_signals::listen(const std::stop_token& ending) {
    ::pthread_setname_np(::pthread_self(), "rota-end");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr); // those of others are for the program's threads
    signal_thread = ::gettid();
    signal_thread.notify_one();
    using clock = std::chrono::steady_clock;
    auto last_moment = clock::time_point::max();
    for (;;) {
        const int number = await(blocked_.set(), last_moment);
        if (ending.stop_requested())
            return;
        if (number == SIGHUP && hangups_ == hangups::call) {
            hang_up();
        } else if (number > 0) {
            const bool first = last_moment == clock::time_point::max();
            last_moment = std::min(last_moment, clock::now() + grace +
                                                    (first ? drain_timeout_ : clock::duration(0)));
            pass_on(number);
        } else if (clock::now() >= last_moment) {
            give_up();
        }
    }
}

} // namespace rota::io
