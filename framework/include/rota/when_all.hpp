#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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
        throw operation_cancelled(); // it was cancelled, though nobody stopped the parent
    }
    return std::move(*result);
}

/// Not a coroutine, so that only plain expressions are expanded in one.
template <class... T, std::size_t... I>
void spawn_all(task_group& group, std::tuple<std::optional<value_of<T>>...>& results,
               std::tuple<task<T>...>& children, std::index_sequence<I...>) {
    (group.spawn(store_result(std::move(std::get<I>(children)), &std::get<I>(results))), ...);
}

template <class... T, std::size_t... I>
std::tuple<value_of<T>...> take_all(std::tuple<std::optional<value_of<T>>...>& results,
                                    std::index_sequence<I...>) {
    return std::tuple<value_of<T>...>(take_result<T>(std::get<I>(results))...);
}

} // namespace detail

/// Runs all `children` side by side, as routines on the worker of the one that awaits, and gives
/// their values in the same order (std::monostate for void).
///
/// All are awaited in any case. The first error stops the others and is rethrown. A stop of the
/// parent stops all of them.
template <class... T>
task<std::tuple<detail::value_of<T>...>> when_all(task<T>... children) {
    constexpr auto indices = std::index_sequence_for<T...>();
    task_group group(co_await current_context);
    std::tuple<std::optional<detail::value_of<T>>...> results;
    std::tuple<task<T>...> bodies(std::move(children)...);
    detail::spawn_all<T...>(group, results, bodies, indices);
    co_await group.join();
    co_return detail::take_all<T...>(results, indices);
}

/// As above for any number of tasks of one type: `std::vector<T>`, in the same order.
template <class T>
requires(!std::is_void_v<T>) task<std::vector<T>> when_all(std::vector<task<T>> children) {
    task_group group(co_await current_context);
    std::vector<std::optional<T>> results(children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
        group.spawn(detail::store_result(std::move(children[i]), &results[i]));
    }
    co_await group.join();
    std::vector<T> values;
    values.reserve(results.size());
    for (std::optional<T>& result : results) {
        values.push_back(detail::take_result<T>(result));
    }
    co_return values;
}

/// As above for tasks without values.
inline task<void> when_all(std::vector<task<void>> children) {
    task_group group(co_await current_context);
    std::vector<std::optional<std::monostate>> results(children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
        group.spawn(detail::store_result(std::move(children[i]), &results[i]));
    }
    co_await group.join();
    for (std::optional<std::monostate>& result : results) {
        detail::take_result<void>(result);
    }
}

} // namespace rota
