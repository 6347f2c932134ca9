#pragma once

#include <concepts>
#include <coroutine>
#include <functional>
#include <type_traits>
#include <utility>

#include <rota/task.hpp>

namespace rota {

/// What co_await uses directly in a task: has await_ready, await_suspend and await_resume.
template <class A>
concept awaiter = requires(A& a, std::coroutine_handle<detail::task_promise<void>> self) {
    { a.await_ready() } -> std::convertible_to<bool>;
    a.await_suspend(self);
    a.await_resume();
};

namespace detail {

template <class A>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

} // namespace detail

/// What a task can co_await: a task, a wait (`channel.pop()`, `mutex.lock()`, `join(r)`), or an
/// awaiter of one's own.
template <class A>
concept awaitable =
    awaiter<std::remove_reference_t<decltype(detail::awaiter_of(std::declval<A>()))>>;

/// The type that `co_await` of an A gives.
template <awaitable A>
using await_result_t =
    decltype(std::declval<decltype(detail::awaiter_of(std::declval<A>()))>().await_resume());

namespace detail {

/// A function without parameters, the call of which gives an awaitable, or a value at once.
template <class F>
concept starter = !awaitable<F> && std::invocable<F&>;

template <class A>
auto body_result() {
    if constexpr (awaitable<A>)
        return std::type_identity<await_result_t<A>>();
    else if constexpr (!starter<A>)
        return std::type_identity<void>(); // refused by task_body
    else if constexpr (awaitable<std::invoke_result_t<A&>>)
        return std::type_identity<await_result_t<std::invoke_result_t<A&>>>();
    else
        return std::type_identity<std::invoke_result_t<A&>>();
}

} // namespace detail

/// What a routine, a child, or a branch can be made of: an awaitable, or a function without
/// parameters, which is kept as long as what it returns is awaited. Such a function is a coroutine
/// (also a lambda with captures: `[&log]() -> task<void> {...}`), returns an awaitable, or is a
/// function that returns without waiting.
template <class A>
concept task_body = awaitable<std::decay_t<A>> || detail::starter<std::decay_t<A>>;

/// The type that awaiting `body` gives. Unconstrained on purpose: Clang looks at a return type
/// before the constraints and would report this one instead of `task_body`.
template <class A>
using body_result_t = typename decltype(detail::body_result<std::decay_t<A>>())::type;

namespace detail {

/// Awaits `body`, which lives here meanwhile. Result is the type of its result, or void to drop
/// that.
template <class Result, class A>
task<Result> await_kept(A body) {
    if constexpr (awaitable<A> && std::is_void_v<Result>) {
        static_cast<void>(co_await std::move(body));
    } else if constexpr (awaitable<A>) {
        co_return co_await std::move(body);
    } else if constexpr (awaitable<std::invoke_result_t<A&>>) {
        std::invoke_result_t<A&> begun = std::invoke(body);
        check_returned(begun);
        if constexpr (std::is_void_v<Result>)
            static_cast<void>(co_await std::move(begun));
        else
            co_return co_await std::move(begun);
    } else if constexpr (std::is_void_v<Result>) {
        static_cast<void>(std::invoke(body));
        co_return;
    } else {
        co_return std::invoke(body);
    }
}

/// Fails to compile, with a readable message, for what cannot be awaited; returns true otherwise.
template <class A>
consteval bool check_body() {
    using body = std::decay_t<A>;
    constexpr bool is_lvalue_task = is_task<body> && std::is_lvalue_reference_v<A>;
    static_assert(!is_lvalue_task, "a task is awaited once, so it is moved: write std::move(t)");
    constexpr bool is_lvalue_wait =
        !is_task<body> && awaitable<body> && std::is_lvalue_reference_v<A>;
    static_assert(
        !is_lvalue_wait,
        "a wait is awaited once, so it is moved: write std::move(w), or make it in place");
    static_assert(std::is_move_constructible_v<body>,
                  "what is awaited here has to be movable; write a lambda that awaits it: "
                  "[&]() -> rota::task<T> { co_return co_await ...; }");
    static_assert(!std::is_reference_v<body_result_t<body>>,
                  "what it comes to is a value, not a reference: return a pointer");
    return !is_lvalue_task && !is_lvalue_wait && std::is_move_constructible_v<body>;
}

} // namespace detail

/// Returns a task that owns `body`, awaits it and returns its result. A task is returned as it is.
/// Everything that runs something takes its argument through this: with_timeout, when_all,
/// when_any, under, task_group::spawn, executor::spawn. Throws std::bad_alloc, having begun
/// nothing, and std::invalid_argument for a task that is empty or was awaited. If a function
/// returns such a task, awaiting the result of as_task() throws std::logic_error.
///
/// Pass what is to be awaited, not a name of it: `as_task(c.pop())`, `as_task(std::move(t))`. A
/// function may be named; it is copied.
template <task_body A>
[[nodiscard]] auto as_task(A&& body) -> task<body_result_t<A>> {
    using kept = std::decay_t<A>;
    detail::check_usable(body);
    if constexpr (!detail::check_body<A>())
        return {};
    else if constexpr (detail::is_task<kept>)
        return std::forward<A>(body);
    else
        return detail::await_kept<body_result_t<A>, kept>(std::forward<A>(body));
}

namespace detail {

/// Does what as_task() does, but drops the result.
template <task_body A>
[[nodiscard]] task<void> as_void_task(A&& body) {
    using kept = std::decay_t<A>;
    check_usable(body);
    if constexpr (!check_body<A>())
        return {};
    else if constexpr (std::same_as<kept, task<void>>)
        return std::forward<A>(body);
    else
        return await_kept<void, kept>(std::forward<A>(body));
}

} // namespace detail

} // namespace rota
