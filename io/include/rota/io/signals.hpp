#pragma once

#include <csignal>
#include <initializer_list>

#include <rota/io/context.hpp>
#include <rota/task.hpp>

namespace rota::io {

/// Signals as something to wait for (man 2 signalfd).
///
/// Making one blocks the signals in the calling thread, where they then wait until next() takes
/// them; make it in main(), before other threads that might take them are started. Threads of a
/// context take no signals anyway. The destructor restores the mask of the thread that runs it.
class signal_set {
public:
    /// Throws std::invalid_argument for an empty list, and for what is not a signal or, like
    /// SIGKILL, cannot be waited for; std::system_error.
    explicit signal_set(std::initializer_list<int> signals);
    ~signal_set();
    signal_set(const signal_set&) = delete;
    signal_set& operator=(const signal_set&) = delete;

    /// Waits for the next signal and returns its number. One routine at a time. Throws
    /// operation_cancelled.
    task<int> next(context& ctx);

private:
    int fd_;
    sigset_t mask_;
    sigset_t before_;
};

} // namespace rota::io
