#pragma once

#include <chrono>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <rota/awaitable.hpp>
#include <rota/detail/timer_wheel.hpp>
#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>
#include <rota/time_span.hpp>
#include <rota/worker.hpp>

namespace rota {
namespace detail {

/// A stop source that is requested by another token or by a timer, whichever comes first. Made and
/// destroyed under the baton of the worker whose wheel the timer is in.
class time_limit : private timer {
public:
    time_limit(worker& home, const std::stop_token& parent, timer_wheel::time_point deadline);
    ~time_limit();

    [[nodiscard]] const std::stop_token& token() const noexcept { return stop_.token(); }
    /// Says what a cancelled body means: throws timed_out if the timer did it and the parent goes
    /// on, returns otherwise.
    void throw_if_timed_out() const;

private:
    static void fire(timer& self) noexcept;

    worker& home_;
    const std::stop_token parent_;
    bool expired_ = false;
    linked_stop<1> stop_;
};

inline timer_wheel::time_point deadline_of(const worker& /*home*/,
                                           timer_wheel::time_point deadline) noexcept {
    return deadline;
}
inline timer_wheel::time_point deadline_of(const worker& home, time_span length) noexcept {
    return deadline_after(home.now(), length);
}

/// Limit is a length, which begins now, or a deadline.
template <class T, class Limit>
task<T> run_limited(Limit until, task<T> body) {
    routine& self = co_await current_routine;
    const std::stop_token parent = co_await current_stop_token;
    time_limit limit(self.home(), parent, deadline_of(self.home(), until));
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

} // namespace detail

/// Runs `body`, anything that can be awaited (see task_body), and requests its stop at `deadline`.
///
/// The body is always awaited to its end: cancelled, never abandoned. If it ends with a value (or
/// an error of its own) although the time is up, that is the result; if it ends with
/// operation_cancelled because of the deadline, timed_out is thrown; if stop was requested from
/// above, operation_cancelled. So nothing is lost: what `c.pop()` or `s.acquire()` has been given
/// is the result, and where timed_out is thrown it has been given nothing.
template <task_body A>
[[nodiscard]] auto with_deadline(std::chrono::steady_clock::time_point deadline, A&& body)
    -> task<body_result_t<A>> {
    return detail::run_limited(deadline, as_task(std::forward<A>(body)));
}

/// Does what with_deadline() does, `length` from when it is awaited, to the next millisecond:
/// `co_await with_timeout(1s, channel.pop())`.
template <task_body A>
[[nodiscard]] auto with_timeout(time_span length, A&& body) -> task<body_result_t<A>> {
    return detail::run_limited(length, as_task(std::forward<A>(body)));
}

} // namespace rota
