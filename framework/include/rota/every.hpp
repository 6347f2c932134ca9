#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <stop_token>
#include <utility>

#include <rota/awaitable.hpp>
#include <rota/errors.hpp>
#include <rota/executor.hpp>
#include <rota/routine.hpp>
#include <rota/sleep_awaiter.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>

namespace rota {
namespace detail {

/// Returns the first of `last` + n * `period`, n > 0, that is not over.
inline std::chrono::steady_clock::time_point
next_tick(std::chrono::steady_clock::time_point last, std::chrono::steady_clock::duration period,
          std::chrono::steady_clock::time_point now) noexcept {
    using time_point = std::chrono::steady_clock::time_point;
    if (now > time_point::max() - 2 * period)
        return time_point::max();
    const auto missed = now > last + period ? (now - last - period) / period : 0;
    const auto next = last + (missed + 1) * period;
    return next < now ? next + period : next;
}

} // namespace detail

/// Calls `function` once every `period`, first when that has passed, until it is stopped:
/// `server.attach(every(1s, [&] { counts.publish(); }))`. `function` is an ordinary function or a
/// coroutine; a lambda may capture.
///
/// The calls are at `period`, 2 * `period`, ... from the beginning, whatever each of them takes, so
/// nothing drifts; one at a time: those that fall due while a call is still running are skipped. A
/// stop request ends it, with operation_cancelled: at once while it waits, else after the call
/// under way, whose stop is requested as well. An exception of a call, or a lack of memory for one,
/// does not end it, since the next call may do better: it is passed to the executor's error handler
/// (by default that logs it). Throws std::invalid_argument for a period of less than a millisecond,
/// the tick of the timers.
template <detail::starter F>
[[nodiscard]] task<void> every(time_span period, F function,
                               std::source_location where = std::source_location::current()) {
    using duration = std::chrono::steady_clock::duration;
    const duration step = std::min<duration>(period, std::chrono::years(100));
    if (step < std::chrono::milliseconds(1))
        throw std::invalid_argument("rota: every() needs a period of a millisecond at least");
    routine& self = co_await current_routine;
    const std::stop_token stop = co_await current_stop_token;
    auto due = self.home().now();
    for (;;) {
        due = detail::next_tick(due, step, self.home().now());
        sleep_awaiter wait(due, where);
        co_await wait;
        try {
            co_await detail::as_void_task(std::ref(function));
        } catch (const operation_cancelled&) {
            if (stop.stop_requested())
                throw;
        } catch (...) {
            self.owner().report(self, std::current_exception());
        }
    }
}

} // namespace rota
