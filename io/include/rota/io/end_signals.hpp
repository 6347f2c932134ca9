#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace rota::io {

/// Waits for the signals that end a program, SIGINT, SIGTERM and SIGHUP (unless that is ignored, as
/// by nohup(1), or means something else), on a thread of its own, so that no handler that keeps its
/// worker can hold them up.
///
/// Once there has been one, the process ends in time, whatever hangs: if the drain timeout and
/// `grace` have passed, or `grace` after a second one, it says so in the log and ends with exit
/// code 1 at once. Lives in main(), around all that may hang, the context too.
///
/// Making one blocks the signals in the calling thread. Threads that do not block them, such as
/// those started before, hand on what they get: handlers that the program had for them are not
/// called meanwhile. The destructor restores those, and the mask of the thread that runs it, and
/// drops what has not been taken. There is one at a time in a process.
class end_signals {
public:
    static constexpr std::chrono::seconds grace{5};

    /// What SIGHUP does, from the start on.
    enum class hangups {
        end, ///< what the other signals do, unless it is ignored
        call ///< calls what call_on_hangup() is given, also if it was ignored
    };

    /// Throws std::system_error if no thread can be created, and std::logic_error if there is one
    /// already.
    explicit end_signals(std::chrono::milliseconds drain_timeout, hangups = hangups::end);
    ~end_signals();
    end_signals(const end_signals&) = delete;
    end_signals& operator=(const end_signals&) = delete;

    /// Has `drain` called for each signal from now on, up to two, and now for those so far. It must
    /// not throw. Empty: nothing is called any more, nor still running on return, and the log has
    /// what there was to say of the signals.
    void call(std::function<void()> drain);

    /// Has `hangup` called for each SIGHUP from now on, on the thread of the signals, which has
    /// nothing else to do meanwhile but to end the program; and now, once, if there have been some
    /// for which nothing was called. It must not throw. Empty: nothing is called, nor still running
    /// on return. Throws std::logic_error unless `hangups::call` was given.
    void call_on_hangup(std::function<void()> hangup);

private:
    /// Makes sure that there is only one.
    class alone {
    public:
        alone();
        ~alone();
        alone(const alone&) = delete;
        alone& operator=(const alone&) = delete;
    };

    /// Blocks signals for as long as it lives.
    class blocked {
    public:
        explicit blocked(hangups what);
        ~blocked();
        blocked(const blocked&) = delete;
        blocked& operator=(const blocked&) = delete;
        [[nodiscard]] const sigset_t& set() const noexcept { return set_; }

    private:
        sigset_t set_;
        sigset_t before_;
    };

    /// Has signals that other threads get handed on to the listening one.
    class handed_on {
    public:
        explicit handed_on(const sigset_t& which) noexcept;
        ~handed_on();
        handed_on(const handed_on&) = delete;
        handed_on& operator=(const handed_on&) = delete;

    private:
        sigset_t which_;
        std::array<struct sigaction, 3> before_{};
    };

    void listen(const std::stop_token& ending);
    void hang_up();
    void pass_on(int number);
    [[noreturn]] void give_up() noexcept;

    const alone alone_;
    const std::chrono::milliseconds drain_timeout_;
    const hangups hangups_;
    const blocked blocked_;
    std::mutex hangup_lock_; // guards the next two
    std::function<void()> hangup_;
    bool hung_up_ = false; // and nothing was called for it
    std::mutex lock_;      // guards the next three
    std::function<void()> drain_;
    int signals_ = 0;                   // up to two
    std::vector<std::jthread> telling_; // write to the log, which may be what hangs
    std::jthread thread_;
    std::optional<handed_on> handed_on_; // while the thread is there
};

} // namespace rota::io
