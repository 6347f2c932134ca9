#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <source_location>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include <rota/awaitable.hpp>
#include <rota/executor.hpp>
#include <rota/linked_stop.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>

namespace rota {

/// The routine that makes a task_group, and the token that stops its children.
class task_context {
public:
    task_context(routine& owner, std::stop_token token) noexcept
        : owner_(&owner), token_(std::move(token)) {}
    [[nodiscard]] routine& owner() const noexcept { return *owner_; }
    [[nodiscard]] const std::stop_token& token() const noexcept { return token_; }

private:
    routine* owner_;
    std::stop_token token_;
};

/// `task_group group(co_await current_context);`
struct current_context_t {
    struct awaiter : detail::immediate_awaiter {
        routine* owner = nullptr;
        const std::stop_token* token = nullptr;
        template <std::derived_from<detail::promise_base> Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
            owner = &self.promise().current_routine();
            token = &self.promise().stop_token();
            return false;
        }
        task_context await_resume() const noexcept { return {*owner, *token}; }
    };
    awaiter operator co_await() const noexcept { return {}; }
};
inline constexpr current_context_t current_context{};

/// Children that run beside a task and do not outlive it.
///
/// Each child is a routine of its own, on the worker of the routine that made the group; they take
/// turns there, so what they share with one another and with the parent needs no lock. A stop of
/// the parent stops them. The first error stops the others and is thrown by join(); cancellations
/// are not errors. The group must be joined before its destruction, on every path: otherwise the
/// program is terminated. with_task_group() sees to that.
///
/// Thread-safety: the parent and the children only.
class task_group {
public:
    explicit task_group(const task_context& context);
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    ~task_group();

    /// Starts a child that runs anything that can be awaited, or a function (see task_body), which
    /// is kept until the child has ended: `group.spawn([&log]() -> task<void> {...})`. Its result
    /// is dropped. It begins once the parent waits. If it cannot be started, it counts as a child
    /// that failed. A child that has not begun when the group is stopped never begins.
    template <task_body A>
    void spawn(A&& body, std::string name = {}) noexcept {
        try {
            start(detail::as_void_task(std::forward<A>(body)), std::move(name));
        } catch (...) {
            fail(std::current_exception());
        }
    }
    /// Spawns what `make()` returns. If that throws, as when there is no memory for the coroutine,
    /// it counts as a child that failed: the group is joined in any case.
    template <class Make>
    requires task_body<std::invoke_result_t<Make&>>
    void spawn_made(Make&& make) noexcept {
        try {
            spawn(make());
        } catch (...) {
            fail(std::current_exception());
        }
    }
    /// Stops all children, and those that are spawned later. join() still has to follow.
    void request_stop() noexcept { stop_.request_stop(); }
    /// Notes `error` as if a child had ended with it; operation_cancelled counts as a cancellation.
    void fail(std::exception_ptr error) noexcept;

    /// Returns how many children have not ended.
    [[nodiscard]] std::size_t running() const noexcept { return running_; }
    /// Returns the token that stops the children.
    [[nodiscard]] const std::stop_token& token() const noexcept { return stop_.token(); }

    /// The awaiter that ended() returns.
    class [[nodiscard]] ended_awaiter {
    public:
        ended_awaiter(task_group& group, std::source_location where) noexcept
            : group_(group), where_(where) {}
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            routine& parent = self.promise().current_routine();
            if (group_.running_ == 0)
                return parent.yield_if_spent(self);
            group_.check_joiner(parent);
            group_.joiner_ = &parent;
            parent.suspend(self, "task_group::join", where_, &group_);
            return true;
        }
        void await_resume() const noexcept {}

    protected:
        task_group& group_;

    private:
        std::source_location where_;
    };

    /// The awaiter that join() returns.
    class [[nodiscard]] join_awaiter : public ended_awaiter {
    public:
        using ended_awaiter::ended_awaiter;
        void await_resume() const { group_.throw_if_failed(); }
    };

    /// `co_await group.join();` waits until no child is left. Rethrows the first error; throws
    /// operation_cancelled if there is none, but a child was cancelled and the parent's stop was
    /// requested. If none has failed and no stop was requested, the group can be used again
    /// afterwards; else what is spawned never begins, and the next join() throws the same.
    ///
    /// One at a time, and not by a child, nor by anything a child runs: that would wait for itself,
    /// and throws std::system_error (resource_deadlock_would_occur).
    join_awaiter join(std::source_location where = std::source_location::current()) noexcept {
        return {*this, where};
    }
    /// Waits as join() does, but does not throw: see error().
    ended_awaiter ended(std::source_location where = std::source_location::current()) noexcept {
        return {*this, where};
    }
    /// Returns the first error, null if there is none.
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

private:
    class child;
    void start(task<void> body, std::string name) noexcept;
    void throw_if_failed() const;
    void check_joiner(const routine& by) const;
    void child_ended() noexcept;

    routine& owner_;
    const std::stop_token parent_;
    linked_stop<1> stop_;
    std::size_t running_ = 0;
    routine* joiner_ = nullptr;
    std::exception_ptr error_;
    bool cancelled_ = false;
};

/// Runs `body(group)`, a coroutine, and joins the group however the body ends; returns what the
/// body returns.
///
/// The body runs as part of the awaiting routine, and is stopped with the children when one of them
/// fails; if it throws itself, even before it is awaited (a function that returns a task need not
/// be a coroutine), the children are stopped and awaited. The first error is thrown. `body` is kept
/// until everything has ended, so it may be a lambda that captures.
template <class Body>
auto with_task_group(Body body) -> std::invoke_result_t<Body&, task_group&> {
    using result = typename std::invoke_result_t<Body&, task_group&>::value_type;
    task_group group(co_await current_context);
    detail::outcome<result> out;
    try {
        std::invoke_result_t<Body&, task_group&> inner = std::invoke(body, group);
        detail::check_returned(inner);
        if constexpr (std::is_void_v<result>) {
            co_await inner.under(group.token());
        } else {
            out.value.emplace(co_await inner.under(group.token()));
        }
    } catch (...) {
        out.error = std::current_exception();
    }
    if (out.error) {
        group.fail(out.error);
        group.request_stop();
    }
    co_await group.join();
    if (out.error) {
        std::rethrow_exception(out.error); // cancelled, though the parent was not stopped
    }
    if constexpr (!std::is_void_v<result>) {
        co_return std::move(*out.value);
    }
}

} // namespace rota
