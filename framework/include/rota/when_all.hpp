#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/awaitable.hpp>
#include <rota/errors.hpp>
#include <rota/task.hpp>
#include <rota/task_group.hpp>

namespace rota {
namespace detail {

template <class T>
task<void> store_result(task<T> body, std::optional<value_of<T>>* out) {
    if constexpr (std::is_void_v<T>) {
        co_await std::move(body);
        out->emplace();
    } else {
        out->emplace(co_await std::move(body));
    }
}

template <class T>
value_of<T> take_result(std::optional<value_of<T>>& result) {
    if (!result) {
        throw operation_cancelled(); // it was cancelled, though the parent was not stopped
    }
    return std::move(*result);
}

/// Not a coroutine, so that only plain expressions are expanded in one.
template <class... T, std::size_t... I>
void spawn_all(task_group& group, std::tuple<std::optional<value_of<T>>...>& results,
               std::tuple<task<T>...>& children, std::index_sequence<I...>) noexcept {
    (group.spawn_made(
         [&] { return store_result(std::move(std::get<I>(children)), &std::get<I>(results)); }),
     ...);
}

template <class... T, std::size_t... I>
std::tuple<value_of<T>...> take_all(std::tuple<std::optional<value_of<T>>...>& results,
                                    std::index_sequence<I...>) {
    return std::tuple<value_of<T>...>(take_result<T>(std::get<I>(results))...);
}

template <class... T>
task<std::tuple<value_of<T>...>> await_all(task<T>... children) {
    constexpr auto indices = std::index_sequence_for<T...>();
    task_group group(co_await current_context);
    std::tuple<std::optional<value_of<T>>...> results;
    std::tuple<task<T>...> bodies(std::move(children)...);
    spawn_all<T...>(group, results, bodies, indices);
    co_await group.join();
    co_return take_all<T...>(results, indices);
}

/// The result for a vector of children: their values, or void.
template <class T>
using values_of = std::conditional_t<std::is_void_v<T>, void, std::vector<value_of<T>>>;

template <class T>
task<values_of<T>> await_all_of(std::vector<task<T>> children) {
    task_group group(co_await current_context);
    std::vector<std::optional<value_of<T>>> results(children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto make = [&] { return store_result(std::move(children[i]), &results[i]); };
        group.spawn_made(make);
    }
    co_await group.join();
    if constexpr (std::is_void_v<T>) {
        for (std::optional<std::monostate>& result : results) {
            take_result<void>(result);
        }
    } else {
        std::vector<T> values;
        values.reserve(results.size());
        for (std::optional<T>& result : results) {
            values.push_back(take_result<T>(result));
        }
        co_return values;
    }
}

template <class A>
std::vector<task<body_result_t<A>>> as_tasks(std::vector<A>&& bodies) {
    if constexpr (is_task<A>) {
        std::vector<A> tasks = std::move(bodies);
        for (const A& t : tasks)
            check_usable(t);
        return tasks;
    } else {
        std::vector<task<body_result_t<A>>> tasks;
        tasks.reserve(bodies.size());
        for (A& body : bodies) {
            tasks.push_back(as_task(std::move(body)));
        }
        return tasks;
    }
}

template <class A>
inline constexpr bool never = false;

} // namespace detail

/// Runs all `children`, anything that can be awaited (see task_body), side by side, as routines on
/// the worker of the awaiting routine, and returns their values in the same order (std::monostate
/// for void).
///
/// All are awaited in any case. The first error stops the others and is rethrown; their results so
/// far are dropped, as they are when a stop of the parent stops all of them. Where that must not
/// be, as with values from channels, use when_settled().
template <task_body... A>
[[nodiscard]] auto when_all(A&&... children)
    -> task<std::tuple<detail::value_of<body_result_t<A>>...>> {
    return detail::await_all(as_task(std::forward<A>(children))...);
}

/// Does the same for any number of one type. Returns a `std::vector<T>`, in the same order; nothing
/// for void.
template <task_body A>
[[nodiscard]] auto when_all(std::vector<A>&& children)
    -> task<detail::values_of<body_result_t<A>>> {
    return detail::await_all_of(detail::as_tasks(std::move(children)));
}
template <task_body A>
auto when_all(const std::vector<A>& /*children*/) -> task<detail::values_of<body_result_t<A>>> {
    static_assert(detail::never<A>, "what is awaited is moved: write std::move(children)");
    return {};
}

} // namespace rota
