#pragma once

#include <chrono>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <rota/errors.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>
#include <rota/timer_wheel.hpp>
#include <rota/worker.hpp>

namespace rota {
namespace detail {

/// A stop source that is requested by another token or by a timer, whichever comes first. Made and
/// destroyed under the baton of the worker whose wheel the timer is in.
class time_limit : private timer {
public:
    time_limit(worker& home, const std::stop_token& parent, timer_wheel::time_point deadline);
    ~time_limit();

    [[nodiscard]] const std::stop_token& token() const noexcept { return token_; }
    /// What a cancelled body means: throws timed_out if it was the timer that did it and the parent
    /// goes on, returns otherwise.
    void throw_if_timed_out() const;

private:
    struct relay {
        std::stop_source* source;
        void operator()() const noexcept { source->request_stop(); }
    };
    static void fire(timer& self) noexcept;

    worker& home_;
    const std::stop_token parent_;
    std::stop_source source_;
    const std::stop_token token_ = source_.get_token();
    bool expired_ = false;
    std::stop_callback<relay> on_parent_;
};

} // namespace detail

/// Runs `body` and requests its stop at `deadline`.
///
/// The body is always awaited to its end: cancelled, never abandoned. If it ends with a value (or
/// an error of its own) although the time is up, that is the result; if it ends with
/// operation_cancelled because of the deadline, timed_out is thrown; if stop was requested from
/// above, operation_cancelled.
template <class T>
task<T> with_deadline(std::chrono::steady_clock::time_point deadline, task<T> body) {
    routine& self = co_await current_routine;
    const std::stop_token parent = co_await current_stop_token;
    detail::time_limit limit(self.home(), parent, deadline);
    try {
        if constexpr (std::is_void_v<T>) {
            co_await body.under(limit.token());
            co_return;
        } else {
            co_return co_await body.under(limit.token());
        }
    } catch (const operation_cancelled&) {
        limit.throw_if_timed_out();
        throw;
    }
}

/// As with_deadline(), `length` from when it is awaited; to the next millisecond.
template <class T>
task<T> with_timeout(std::chrono::steady_clock::duration length, task<T> body) {
    routine& self = co_await current_routine;
    const auto deadline = deadline_after(self.home().now(), length);
    task<T> limited = with_deadline(deadline, std::move(body));
    if constexpr (std::is_void_v<T>) {
        co_await std::move(limited);
    } else {
        co_return co_await std::move(limited);
    }
}

} // namespace rota
