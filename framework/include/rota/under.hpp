#pragma once

#include <stop_token>
#include <type_traits>
#include <utility>

#include <rota/awaitable.hpp>
#include <rota/linked_stop.hpp>
#include <rota/task.hpp>

namespace rota {
namespace detail {

template <class T>
task<T> run_under(std::stop_token token, task<T> body) {
    const std::stop_token parent = co_await current_stop_token;
    const linked_stop either(parent, token);
    if constexpr (std::is_void_v<T>) {
        co_await body.under(either.token());
    } else {
        co_return co_await body.under(either.token());
    }
}

} // namespace detail

/// Runs `body`, anything that can be awaited (see task_body), and stops it by `token` as well as by
/// the awaiting task's own token: `co_await under(server.drain_token(), channel.pop())`.
///
/// The body is awaited to its end. If it ends with a value although it was to stop, that is the
/// result; otherwise operation_cancelled is thrown, and nothing has been taken.
template <task_body A>
[[nodiscard]] auto under(std::stop_token token, A&& body) -> task<body_result_t<A>> {
    return detail::run_under(std::move(token), as_task(std::forward<A>(body)));
}

} // namespace rota
