#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include <rota/frame_pool.hpp>

namespace rota {

class routine;

template <class T = void>
class task;

namespace detail {

/// What travels down a chain of awaited tasks, and how a finished task goes on with the one that
/// awaits it.
///
/// All of it belongs to the holder of the baton of the routine's worker (see worker.hpp), so
/// nothing here is atomic: a child is started inside its parent's await_suspend, and whatever
/// resumes the child later does so after the parent has gone back to its worker.
class promise_base {
public:
    [[nodiscard]] routine& current_routine() const noexcept { return *routine_; }
    /// The token that ends every wait of this task. Outlives the task: an ancestor or the routine
    /// owns it.
    [[nodiscard]] const std::stop_token& stop_token() const noexcept { return *stop_token_; }

    void set_context(routine& owner, const std::stop_token& token) noexcept {
        routine_ = &owner;
        stop_token_ = &token;
    }

    static void* operator new(std::size_t bytes) { return frame_pool::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept {
        frame_pool::deallocate(block, bytes);
    }

    std::suspend_always initial_suspend() const noexcept { return {}; }

    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
            promise_base& promise = self.promise();
            promise.done_ = true;
            // Nothing may be touched after this: the continuation may destroy this frame.
            if (promise.awaited_)
                promise.continuation_.resume();
        }
        void await_resume() const noexcept {}
    };
    final_awaiter final_suspend() const noexcept { return {}; }

    void unhandled_exception() noexcept { error_ = std::current_exception(); }

    /// Runs the task `self` for the first time. True if it suspended, and `continuation` will be
    /// resumed at its end; false if it has already finished. No symmetric transfer: GCC turns that
    /// into a tail call only when optimising, so a million tasks that finish at once would overflow
    /// the stack of a debug or sanitizer build.
    bool start(std::coroutine_handle<> self, std::coroutine_handle<> continuation) {
        continuation_ = continuation;
        self.resume();
        if (done_)
            return false;
        awaited_ = true;
        return true;
    }

protected:
    void rethrow_if_failed() {
        if (error_)
            std::rethrow_exception(std::exchange(error_, nullptr));
    }

private:
    std::coroutine_handle<> continuation_;
    routine* routine_ = nullptr;
    const std::stop_token* stop_token_ = nullptr;
    std::exception_ptr error_;
    bool done_ = false;
    bool awaited_ = false;
};

template <class T>
class task_promise : public promise_base {
public:
    task<T> get_return_object() noexcept;
    template <class U = T> // so that `co_return {};` is a T
    requires std::constructible_from<T, U&&>
    void return_value(U&& value) { value_.emplace(std::forward<U>(value)); }
    T take() {
        rethrow_if_failed();
        return std::move(*value_);
    }

private:
    std::optional<T> value_;
};

template <>
class task_promise<void> : public promise_base {
public:
    task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void take() { rethrow_if_failed(); }
};

} // namespace detail

/// A coroutine that starts when it is awaited and runs as part of the routine that awaits it.
///
/// Awaiting it yields its value or rethrows its exception; it is awaited once, by `co_await f()` or
/// `co_await std::move(t)`. The stop token and the routine of the awaiting coroutine travel down to
/// it. Destroying a task that was not awaited frees it without having run. A task is used by one
/// thread at a time; inside Rota that is the holder of its worker's baton. Parameters of a
/// coroutine are copied into its frame: pass values, or references to what provably outlives it. T
/// is an object type or void.
template <class T>
class [[nodiscard("a task does nothing until it is awaited")]] task {
    static_assert(std::is_void_v<T> || std::is_object_v<T>,
                  "return a value or a pointer from a task");

public:
    using promise_type = detail::task_promise<T>;
    using value_type = T;
    using handle = std::coroutine_handle<promise_type>;

    task() noexcept = default;
    explicit task(handle coroutine) noexcept : coroutine_(coroutine) {}
    task(task && other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    task& operator=(task&& other) noexcept {
        if (this != &other) {
            reset();
            coroutine_ = std::exchange(other.coroutine_, nullptr);
        }
        return *this;
    }
    ~task() { reset(); }

    /// False for a default-constructed or moved-from task.
    [[nodiscard]] bool valid() const noexcept { return coroutine_ != nullptr; }

    struct awaiter {
        handle coroutine;
        const std::stop_token* token; // null: the parent's
        bool await_ready() const noexcept { return false; }
        template <std::derived_from<detail::promise_base> Parent>
        bool await_suspend(std::coroutine_handle<Parent> parent) {
            auto& promise = coroutine.promise();
            promise.set_context(parent.promise().current_routine(),
                                token != nullptr ? *token : parent.promise().stop_token());
            return promise.start(coroutine, parent);
        }
        T await_resume() { return coroutine.promise().take(); }
    };
    awaiter operator co_await()&& noexcept { return awaiter{coroutine_, nullptr}; }

    /// `co_await body.under(token)` runs the task with another stop token than the awaiting
    /// coroutine's; whoever does that sees to it that the parent's stop reaches `token`. Task and
    /// token outlive the wait.
    [[nodiscard]] awaiter under(const std::stop_token& token)& noexcept {
        return awaiter{coroutine_, &token};
    }

    /// The coroutine itself, for what runs a task as the root of a routine. Still owned by the
    /// task.
    [[nodiscard]] handle coroutine() const noexcept { return coroutine_; }

private:
    void reset() noexcept {
        if (coroutine_)
            std::exchange(coroutine_, nullptr).destroy();
    }

    handle coroutine_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/// void has no values; where one is needed it is std::monostate.
template <class T>
using value_of = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// Base of awaiters that read something from the awaiting coroutine's promise and go on at once.
struct immediate_awaiter {
    bool await_ready() const noexcept { return false; }
};

} // namespace detail

/// `std::stop_token token = co_await rota::current_stop_token;` gives the token that cancels the
/// running task.
struct current_stop_token_t {
    struct awaiter : detail::immediate_awaiter {
        std::stop_token token;
        template <std::derived_from<detail::promise_base> Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
            token = self.promise().stop_token();
            return false;
        }
        std::stop_token await_resume() noexcept { return std::move(token); }
    };
    awaiter operator co_await() const noexcept { return {}; }
};
inline constexpr current_stop_token_t current_stop_token{};

/// `rota::routine& self = co_await rota::current_routine;` gives the scheduled unit that the
/// running task belongs to.
struct current_routine_t {
    struct awaiter : detail::immediate_awaiter {
        routine* self = nullptr;
        template <std::derived_from<detail::promise_base> Promise>
        bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
            self = &coroutine.promise().current_routine();
            return false;
        }
        routine& await_resume() const noexcept { return *self; }
    };
    awaiter operator co_await() const noexcept { return {}; }
};
inline constexpr current_routine_t current_routine{};

} // namespace rota
