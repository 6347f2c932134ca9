#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <rota/awaitable.hpp>
#include <rota/errors.hpp>
#include <rota/task.hpp>
#include <rota/task_group.hpp>

namespace rota {

/// How one of several has ended: with a value (std::monostate for void), or with an error.
template <class T>
struct settled {
    std::optional<detail::value_of<T>> value;
    std::exception_ptr error; ///< operation_cancelled if it was stopped

    explicit operator bool() const noexcept { return value.has_value(); }
};

namespace detail {

template <class T>
task<void> settle(task<T> body, settled<T>* out) {
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(body);
            out->value.emplace();
        } else {
            out->value.emplace(co_await std::move(body));
        }
    } catch (...) {
        out->error = std::current_exception();
    }
}

template <class... T, std::size_t... I>
void spawn_settling(task_group& group, std::tuple<settled<T>...>& results,
                    std::tuple<task<T>...>& children, std::index_sequence<I...>) noexcept {
    (group.spawn_made(
         [&] { return settle(std::move(std::get<I>(children)), &std::get<I>(results)); }),
     ...);
}

template <class T>
void note_unbegun(settled<T>& result) {
    if (!result.value && !result.error) // stopped before it began
        result.error = std::make_exception_ptr(operation_cancelled());
}

template <class... T>
task<std::tuple<settled<T>...>> await_settled(task<T>... children) {
    task_group group(co_await current_context);
    std::tuple<settled<T>...> results;
    std::tuple<task<T>...> bodies(std::move(children)...);
    spawn_settling(group, results, bodies, std::index_sequence_for<T...>());
    co_await group.ended();
    if (group.error())
        std::rethrow_exception(group.error()); // one could not be started, so none has begun
    const auto note = [](auto&... each) { (note_unbegun(each), ...); };
    std::apply(note, results);
    co_return results;
}

} // namespace detail

/// Runs all `children`, anything that can be awaited (see task_body), side by side, as routines on
/// the worker of the awaiting routine, and returns how each has ended.
///
/// An error of one does not stop the others, and a stop of the parent stops those that have not
/// ended; the results of the others are kept. So nothing is lost: `co_await with_timeout(1s,
/// when_settled(a.pop(), b.pop()))` gives what was popped in a second. Throws only std::bad_alloc,
/// and the like, if a child cannot be started; none has begun then.
template <task_body... A>
[[nodiscard]] auto when_settled(A&&... children) -> task<std::tuple<settled<body_result_t<A>>...>> {
    return detail::await_settled(as_task(std::forward<A>(children))...);
}

} // namespace rota
