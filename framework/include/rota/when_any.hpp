#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/awaitable.hpp>
#include <rota/claim.hpp>
#include <rota/errors.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/task.hpp>
#include <rota/task_group.hpp>
#include <rota/when_all.hpp>

namespace rota {
namespace detail {

/// How a race stands. The children and the parent share a worker, so only the claim, which is taken
/// from outside to serve a child, is for any thread.
template <class Result>
struct race {
    claim first;
    std::optional<Result> result; // of the one that was first
    std::exception_ptr error;     // the same
};

/// A wait that is served from outside, so its branch claims the race where it is served.
template <class A>
concept served_wait = std::derived_from<A, list_awaiter>;

/// Returns what runs in a race: such a wait as it is, everything else as a task.
template <task_body A>
auto as_branch(A&& body) {
    if constexpr (served_wait<std::decay_t<A>> && check_body<A>())
        return std::decay_t<A>(std::forward<A>(body));
    else
        return as_task(std::forward<A>(body));
}
template <class A>
using branch_of = decltype(as_branch(std::declval<A>()));

/// Runs one child; `make` makes the result of the race out of its value (std::monostate for void).
template <class Branch, class Result, class Make>
task<void> run_in_race(Branch body, race<Result>* state, task_group* group, Make make) {
    const void* self = &body;
    if constexpr (served_wait<Branch>)
        self = body.run_in(state->first);
    try {
        // A wait is awaited where it is: GCC 12 moves what is awaited as an xvalue once more.
        if constexpr (std::is_void_v<await_result_t<Branch>>) {
            if constexpr (served_wait<Branch>)
                co_await body;
            else
                co_await std::move(body);
            if (state->first.take(self))
                state->result.emplace(make(std::monostate()));
        } else if constexpr (served_wait<Branch>) {
            await_result_t<Branch> value = co_await body;
            if (state->first.take(self))
                state->result.emplace(make(std::move(value)));
        } else {
            await_result_t<Branch> value = co_await std::move(body);
            if (state->first.take(self))
                state->result.emplace(make(std::move(value)));
        }
    } catch (const operation_cancelled&) {
        co_return; // leaves the race to the others
    } catch (...) {
        if (state->first.take(self))
            state->error = std::current_exception();
    }
    group->request_stop();
}

/// Returns or throws how the race ended, when all have ended.
template <class Result>
Result result_of_race(const task_group& group, race<Result>& state) {
    if (state.error) {
        std::rethrow_exception(state.error);
    }
    if (state.result) {
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

template <class Result, class... Branch, std::size_t... I>
void spawn_race(task_group& group, race<Result>& state, std::tuple<Branch...>& children,
                std::index_sequence<I...>) noexcept {
    (group.spawn_made([&] {
        return run_in_race(std::move(std::get<I>(children)), &state, &group,
                           make_alternative<I, Result>());
    }),
     ...);
}

template <class... Branch>
task<std::variant<value_of<await_result_t<Branch>>...>> await_any(Branch... children) {
    using result = std::variant<value_of<await_result_t<Branch>>...>;
    race<result> state;
    task_group group(co_await current_context);
    std::tuple<Branch...> bodies(std::move(children)...);
    spawn_race(group, state, bodies, std::index_sequence_for<Branch...>());
    co_await group.ended();
    co_return result_of_race(group, state);
}

} // namespace detail

/// Runs `children` (at least one), anything that can be awaited (see task_body), side by side, as
/// routines on the worker of the awaiting routine, until one ends, and returns its value: index()
/// of the variant says which (std::monostate for void).
///
/// The others are stopped and awaited, never abandoned. If the first to end failed, its error is
/// rethrown. A child that ends as cancelled leaves the race to the others; operation_cancelled is
/// thrown if none is left, as after a stop of the parent.
///
/// A wait that is passed itself (`c.pop()`, `c.push(v)`, `s.acquire()`, `m.lock()`, `e.wait()`,
/// `q.take_up_to(n)`, `r.next()`) is served only if it is the first: of `when_any(a.pop(),
/// b.pop())` exactly one pops, and a loser has taken and given nothing, even if both could be
/// served at the same moment. A task that loses may already have a result when its stop reaches it,
/// which is dropped: so put the wait itself into the race, and what belongs around it, such as a
/// timeout, around the race.
template <task_body... A>
requires(sizeof...(A) > 0) [[nodiscard]] auto when_any(A&&... children)
    -> task<std::variant<detail::value_of<body_result_t<A>>...>> {
    return detail::await_any<detail::branch_of<A>...>(
        detail::as_branch(std::forward<A>(children))...);
}

/// Which child of several was first, and its value (std::monostate for void).
template <class T>
struct first_of {
    std::size_t index = 0;
    detail::value_of<T> value{};
};

namespace detail {

template <class Branch>
task<first_of<await_result_t<Branch>>> await_any_of(std::vector<Branch> children) {
    using value = await_result_t<Branch>;
    if (children.empty()) {
        throw std::invalid_argument("when_any: nothing to wait for");
    }
    race<first_of<value>> state;
    task_group group(co_await current_context);
    for (std::size_t i = 0; i < children.size(); ++i) {
        const auto make = [i](value_of<value> v) { return first_of<value>{i, std::move(v)}; };
        const auto run = [&] { return run_in_race(std::move(children[i]), &state, &group, make); };
        group.spawn_made(run);
    }
    co_await group.ended();
    co_return result_of_race(group, state);
}

} // namespace detail

/// Does the same for any number of one type. Throws std::invalid_argument if there is none.
template <task_body A>
[[nodiscard]] auto when_any(std::vector<A>&& children) -> task<first_of<body_result_t<A>>> {
    if constexpr (detail::served_wait<A>)
        return detail::await_any_of(std::move(children));
    else
        return detail::await_any_of(detail::as_tasks(std::move(children)));
}
template <task_body A>
auto when_any(const std::vector<A>& /*children*/) -> task<first_of<body_result_t<A>>> {
    static_assert(detail::never<A>, "what is awaited is moved: write std::move(children)");
    return {};
}

} // namespace rota
