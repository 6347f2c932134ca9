#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/errors.hpp>
#include <rota/task.hpp>
#include <rota/task_group.hpp>
#include <rota/when_all.hpp>

namespace rota {
namespace detail {

/// How a race stands. The children and the parent share a worker, so there is no lock.
template <class Result>
struct race {
    std::optional<Result> result; // of the one that was first
    std::exception_ptr error;
    bool decided = false;
};

/// Runs one child; `make` makes the result of the race out of its value (std::monostate for void).
template <class T, class Result, class Make>
task<void> run_in_race(task<T> body, race<Result>* state, task_group* group, Make make) {
    try {
        std::optional<value_of<T>> value;
        task<void> inner = store_result(std::move(body), &value);
        co_await std::move(inner);
        if (!state->decided) {
            state->result.emplace(make(std::move(*value)));
            state->decided = true;
        }
    } catch (const operation_cancelled&) {
        co_return; // leaves the race to the others
    } catch (...) {
        if (!state->decided) {
            state->error = std::current_exception();
            state->decided = true;
        }
    }
    group->request_stop();
}

/// How it ended, when all have.
template <class Result>
Result result_of_race(const task_group& group, race<Result>& state) {
    if (state.error) {
        std::rethrow_exception(state.error);
    }
    if (state.decided) {
        return std::move(*state.result);
    }
    if (group.error()) {
        std::rethrow_exception(group.error()); // a child could not be started
    }
    throw operation_cancelled();
}

template <std::size_t I, class Result>
struct make_alternative {
    template <class V>
    Result operator()(V&& value) const {
        return Result(std::in_place_index<I>, std::forward<V>(value));
    }
};

template <class... T, std::size_t... I>
void spawn_race(task_group& group, race<std::variant<value_of<T>...>>& state,
                std::tuple<task<T>...>& children, std::index_sequence<I...>) {
    using result = std::variant<value_of<T>...>;
    (group.spawn(run_in_race(std::move(std::get<I>(children)), &state, &group,
                             make_alternative<I, result>())),
     ...);
}

} // namespace detail

/// Runs `children` (at least one) side by side, as routines on the worker of the one that awaits,
/// until one ends, and gives its value: index() of the variant says which (std::monostate for
/// void).
///
/// The others are stopped and awaited, never abandoned; what they come to meanwhile, value or
/// error, is dropped. If the first to end failed, its error is rethrown. A child that ends as
/// cancelled leaves the race to the others; operation_cancelled is thrown if none is left, as after
/// a stop of the parent.
template <class... T>
requires(sizeof...(T) >
         0) task<std::variant<detail::value_of<T>...>> when_any(task<T>... children) {
    task_group group(co_await current_context);
    detail::race<std::variant<detail::value_of<T>...>> state;
    std::tuple<task<T>...> bodies(std::move(children)...);
    detail::spawn_race<T...>(group, state, bodies, std::index_sequence_for<T...>());
    co_await group.ended();
    co_return detail::result_of_race(group, state);
}

/// Which task of several was first, and its value (std::monostate for void).
template <class T>
struct first_of {
    std::size_t index = 0;
    detail::value_of<T> value{};
};

/// As above for any number of tasks of one type. Throws std::invalid_argument if there is none.
template <class T>
task<first_of<T>> when_any(std::vector<task<T>> children) {
    if (children.empty()) {
        throw std::invalid_argument("when_any: no task");
    }
    task_group group(co_await current_context);
    detail::race<first_of<T>> state;
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto make = [i](detail::value_of<T> value) {
            return first_of<T>{i, std::move(value)};
        };
        group.spawn(detail::run_in_race(std::move(children[i]), &state, &group, make));
    }
    co_await group.ended();
    co_return detail::result_of_race(group, state);
}

} // namespace rota
