#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace rota_http {

/// The signals that end the program, SIGINT, SIGTERM and SIGHUP (unless that is ignored, as
/// nohup(1) has it), on a thread of its own, so that no handler that keeps its worker can hold them
/// up.
///
/// Once there has been one, the process ends in time, whatever hangs: if the drain timeout and
/// `grace` have passed, or `grace` after a second one, it says so in the log and ends with exit
/// code 1 on the spot. prepare_process() has to have blocked the signals before any other thread
/// was made. Lives in main(), around all that may hang.
class end_signals {
public:
    static constexpr std::chrono::seconds grace{5};

    explicit end_signals(std::chrono::milliseconds drain_timeout);
    ~end_signals();
    end_signals(const end_signals&) = delete;
    end_signals& operator=(const end_signals&) = delete;

    /// From now on `drain` is called for each signal, and now for those that there were. It does
    /// not throw. Empty: nothing is called any more.
    void call(std::function<void()> drain);

private:
    using clock = std::chrono::steady_clock;

    void listen(const std::stop_token& ending);
    void pass_on();

    const std::chrono::milliseconds drain_timeout_;
    std::mutex lock_; // guards the next two
    std::function<void()> drain_;
    int signals_ = 0;
    std::jthread thread_;
};

} // namespace rota_http
