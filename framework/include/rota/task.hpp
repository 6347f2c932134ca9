#pragma once

#if __cplusplus < 202100L // what GCC 12 says with -std=c++23
#error "Rota needs C++23: -std=c++23"
#endif

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <variant>

#include <rota/check.hpp>
#include <rota/detail/coroutine_frame.hpp>
#include <rota/detail/frame_pool.hpp>

namespace rota {

class routine;

template <class T = void>
class task;

namespace detail {

/// See routine::yield_if_spent().
[[nodiscard]] bool yield_if_spent(routine& self, std::coroutine_handle<> resume_point) noexcept;

/// Ends the program: `awaited`, null if the task is empty, cannot be awaited by `by`, a coroutine
/// of `owner`, at `where`. Writes all of that to stderr.
[[noreturn]] void task_misused(std::coroutine_handle<> awaited, std::coroutine_handle<> by,
                               const routine& owner, const std::source_location& where) noexcept;

/// Does the same for a task that has ended without giving its result.
[[noreturn]] void task_without_value(std::coroutine_handle<> ended) noexcept;

class promise_base;

/// Destroys a task's frame where checks are on. Ends the program, with a message on stderr that
/// names it, if it was never awaited, unless that is `on_purpose`: dropped; or because an exception
/// is passing, or the task whose frame this is in was dropped or failed.
void destroy_checked(std::coroutine_handle<> coroutine, const promise_base& promise,
                     bool on_purpose) noexcept;

/// What is passed down a chain of awaited tasks, and how a finished task resumes the one that
/// awaits it.
///
/// All of it belongs to the holder of the baton of the routine's worker (see worker.hpp), so
/// nothing here is atomic: a child is started inside its parent's await_suspend, and whatever
/// resumes the child later does so after the parent has gone back to its worker.
class promise_base : public coroutine_frame, public frame_pool::pooled {
public:
    [[nodiscard]] routine& current_routine() const noexcept { return *routine_; }
    /// Returns the token that ends every wait of this task. The token outlives the task: an
    /// ancestor or the routine owns it.
    [[nodiscard]] const std::stop_token& stop_token() const noexcept { return *stop_token_; }

    void set_context(routine& owner, const std::stop_token& token) noexcept {
        routine_ = &owner;
        stop_token_ = &token;
    }

    struct final_awaiter {
        promise_base& promise;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<>) const noexcept {
            promise.done_ = true;
            // Nothing may be touched after this: the continuation may destroy this frame.
            if (promise.awaited_)
                promise.continuation_.resume();
        }
        void await_resume() const noexcept {}
    };
    final_awaiter final_suspend() noexcept { return {*this}; }

    void unhandled_exception() noexcept {
        error_ = std::current_exception();
        failed_ = true;
    }

    /// Returns whether the task has been awaited, or is the root of a routine that has begun.
    [[nodiscard]] bool started() const noexcept { return continuation_ != nullptr; }
    /// Whether its result is there, and no code is to run for it: ready_task(), failed_task().
    [[nodiscard]] bool made() const noexcept { return made_; }
    /// Returns whether it has run to its end, without an exception.
    [[nodiscard]] bool succeeded() const noexcept { return done_ && !failed_; }

    /// Runs the task `self` for the first time. Returns true if it suspended, and `continuation`
    /// will be resumed at its end; false if it has already finished. No symmetric transfer: GCC
    /// turns that into a tail call only when optimising, so a million tasks that finish at once
    /// would overflow the stack of a debug or sanitizer build.
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
    void make(std::exception_ptr error = nullptr) noexcept {
        error_ = std::move(error);
        failed_ = error_ != nullptr;
        made_ = true;
    }

private:
    std::coroutine_handle<> continuation_;
    routine* routine_ = nullptr;
    const std::stop_token* stop_token_ = nullptr;
    std::exception_ptr error_;
    bool done_ = false;
    bool awaited_ = false;
    bool failed_ = false;
    bool made_ = false;
};

/// What the coroutine of a task returns whose promise has been given its result.
struct result_is_there {
    explicit result_is_there(int /*so that {} is none*/) noexcept {}
};

/// The part that needs to know the promise's own type.
template <class Promise>
class awaiting_promise : public promise_base {
public:
    auto initial_suspend() noexcept { return frame_start<Promise>(static_cast<Promise&>(*this)); }

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14 // frames_are_displaced
    template <class Awaited>
    auto await_transform(Awaited&& awaited,
                         std::source_location where = std::source_location::current()) {
        static_assert(
            requires(std::remove_reference_t<decltype(awaiter_of(std::declval<Awaited>()))> & a) {
                a.await_ready();
            },
            "there is nothing to wait for: call it without co_await");
        return promise_await<Promise, Awaited>(static_cast<Promise&>(*this),
                                               std::forward<Awaited>(awaited), where);
    }
#endif
};

template <class T>
class task_promise : public awaiting_promise<task_promise<T>> {
public:
    task<T> get_return_object() noexcept;
    template <class U = T> // so that `co_return {};` is a T
    requires std::constructible_from<T, U&&>
    void return_value(U&& value) { value_.emplace(std::forward<U>(value)); }
    void return_value(result_is_there) const noexcept {}
    /// With what `function` returns, made where it stays.
    template <class Function>
    void succeed_by(Function& function) {
        struct returned {
            Function& function;
            operator T() const { return function(); } // NOLINT(google-explicit-constructor)
        };
        value_.emplace(returned{function});
        this->make();
    }
    void fail_with(std::exception_ptr error) noexcept { this->make(std::move(error)); }
    /// Null if there is none yet.
    [[nodiscard]] T* value() noexcept { return value_ ? &*value_ : nullptr; }
    T take() {
        this->rethrow_if_failed();
        if (!value_) [[unlikely]]
            task_without_value(std::coroutine_handle<task_promise>::from_promise(*this));
        return std::move(*value_);
    }

private:
    std::optional<T> value_;
};

template <>
class task_promise<void> : public awaiting_promise<task_promise<void>> {
public:
    task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void take() { rethrow_if_failed(); }
};

[[noreturn]] void throw_unusable();
[[noreturn]] void throw_returned_unusable();

} // namespace detail

/// A coroutine that starts when it is awaited and runs as part of the routine that awaits it.
///
/// Awaiting it yields its value or rethrows its exception; it is awaited once, by `co_await f()` or
/// `co_await std::move(t)`: awaiting it again, or one that is empty, ends the program with a
/// message that says which and where. One that ends at once counts as an await that need not wait:
/// the awaiting routine goes on, or yields if it has spent its budget (budget.hpp). The stop token
/// and the routine of the awaiting coroutine are passed down to it. One that was not awaited is
/// freed without having run. Nearly always that is a `co_await` that was forgotten, so where checks
/// are on (check.hpp) it ends the program with a message that says which, unless an exception is
/// passing or drop() was called. A task is used by one thread at a time; inside Rota that is the
/// holder of its worker's baton. Parameters of a coroutine are copied into its frame: pass values,
/// or references to what provably outlives it. T is an object type or void.
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
            destroy(false);
            coroutine_ = std::exchange(other.coroutine_, nullptr);
        }
        return *this;
    }
    ~task() { destroy(false); }

    /// Frees it; a task that was not awaited does not run.
    void drop() noexcept { destroy(true); }

    /// Returns false for a default-constructed or moved-from task.
    [[nodiscard]] bool valid() const noexcept { return coroutine_ != nullptr; }
    /// Returns whether it can be awaited: it is not empty and has not been awaited.
    [[nodiscard]] bool fresh() const noexcept { return valid() && !coroutine_.promise().started(); }
    /// The value of a ready_task(), which may be changed or moved from there in place of awaiting
    /// it; valid until it is awaited or gone. Null for any other task.
    [[nodiscard]] T* ready() noexcept requires(!std::is_void_v<T>) {
        return fresh() && coroutine_.promise().made() ? coroutine_.promise().value() : nullptr;
    }

    struct awaiter {
        handle coroutine;
        const std::stop_token* token; // null: the parent's
        bool await_ready() const noexcept { return false; }
        /// Ends the program if the task cannot be awaited.
        template <class Parent>
        void check(std::coroutine_handle<Parent> parent, const std::source_location& where) const {
            if (!coroutine || coroutine.promise().started()) [[unlikely]]
                detail::task_misused(coroutine, parent, parent.promise().current_routine(), where);
        }
        /// The compiler fills in where it is awaited.
        template <std::derived_from<detail::promise_base> Parent>
        bool await_suspend(std::coroutine_handle<Parent> parent,
                           std::source_location where = std::source_location::current()) {
            if constexpr (!detail::frames_are_displaced) // promise_await has done it
                check(parent, where);
            auto& promise = coroutine.promise();
            promise.set_context(parent.promise().current_routine(),
                                token != nullptr ? *token : parent.promise().stop_token());
            return promise.start(coroutine, parent) ||
                   detail::yield_if_spent(promise.current_routine(), parent);
        }
        T await_resume() { return coroutine.promise().take(); }
    };
    awaiter operator co_await()&& noexcept { return awaiter{coroutine_, nullptr}; }
    /// Does not compile, with a message that says what does.
    template <class Any = T>
    awaiter operator co_await()& noexcept {
        static_assert(!std::is_same_v<Any, T>,
                      "a task is awaited once, so it is moved: write co_await std::move(t)");
        return awaiter{};
    }

    /// `co_await body.under(token)` runs the task with `token` as its stop token instead of the
    /// awaiting coroutine's; the caller must see to it that the parent's stop reaches `token`. Task
    /// and token outlive the wait.
    [[nodiscard]] awaiter under(const std::stop_token& token)& noexcept {
        return awaiter{coroutine_, &token};
    }

    /// Returns the coroutine itself, for running a task as the root of a routine. Still owned by
    /// the task.
    [[nodiscard]] handle coroutine() const noexcept { return coroutine_; }

private:
    void destroy(bool on_purpose) noexcept {
        if (!coroutine_)
            return;
        const handle gone = std::exchange(coroutine_, nullptr);
        if (checks_enabled)
            detail::destroy_checked(gone, gone.promise(), on_purpose);
        else
            gone.destroy();
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

template <class T>
task<T> made_task() {
    co_return result_is_there(0);
}

/// As ready_task(), of what `function` returns.
template <class T, class Function>
[[nodiscard]] task<T> ready_by(Function function) {
    task<T> made = made_task<T>();
    made.coroutine().promise().succeed_by(function);
    return made;
}

/// Checks what the program hands over to be run. Throws std::invalid_argument for a task that
/// cannot be awaited: that is no reason to end the program.
template <class A>
void check_usable(const A& /*body*/) noexcept {}
template <class T>
void check_usable(const task<T>& t) {
    if (!t.fresh()) [[unlikely]]
        throw_unusable();
}

/// Does the same for what a function of the program returned, with std::logic_error.
template <class A>
void check_returned(const A& /*begun*/) noexcept {}
template <class T>
void check_returned(const task<T>& t) {
    if (!t.fresh()) [[unlikely]]
        throw_returned_unusable();
}
template <class T>
[[nodiscard]] task<T> returned(task<T> t) {
    check_returned(t);
    return t;
}

/// T, or std::monostate for void, where a value is needed.
template <class T>
using value_of = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// Base of awaiters that read something from the awaiting coroutine's promise and go on at once.
struct immediate_awaiter {
    bool await_ready() const noexcept { return false; }
};

} // namespace detail

/// A task that has its value already: awaiting it gives it, and task::ready() does so without. For
/// functions that return tasks, and need not wait this time.
template <class T>
[[nodiscard]] task<T> ready_task(T value) {
    return detail::ready_by<T>([&value]() -> T&& { return std::move(value); });
}

/// The same with an exception, which awaiting it throws.
template <class T>
[[nodiscard]] task<T> failed_task(std::exception_ptr error) {
    task<T> made = detail::made_task<T>();
    made.coroutine().promise().fail_with(std::move(error));
    return made;
}

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
