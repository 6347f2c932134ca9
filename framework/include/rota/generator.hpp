#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include <rota/check.hpp>
#include <rota/detail/coroutine_frame.hpp>
#include <rota/detail/frame_pool.hpp>

namespace rota {

template <class Yield, class Send = void, class Return = void>
class generator;

namespace detail {

/// Carries from the caller to the body the value sent since the last co_yield, if any.
template <class Send>
class generator_inlet {
public:
    struct awaiter {
        generator_inlet& inlet;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        std::optional<Send> await_resume() const {
            return std::exchange(inlet.sent_, std::nullopt);
        }
    };
    awaiter yielded() noexcept { return awaiter{*this}; }
    template <class U>
    void send(U&& value) {
        sent_.emplace(std::forward<U>(value));
    }

private:
    std::optional<Send> sent_;
};

template <>
class generator_inlet<void> {
public:
    std::suspend_always yielded() const noexcept { return {}; }
};

/// Holds what the body returned at its end.
template <class Return>
class generator_result {
public:
    template <class U = Return>
    requires std::constructible_from<Return, U&&>
    void return_value(U&& value) { value_.emplace(std::forward<U>(value)); }
    Return take() { return std::move(*value_); }

private:
    std::optional<Return> value_;
};

template <>
class generator_result<void> {
public:
    void return_void() const noexcept {}
    void take() const noexcept {}
};

template <class Yield, class Send, class Return>
class generator_promise : public coroutine_frame,
                          public frame_pool::pooled,
                          public generator_inlet<Send>,
                          public generator_result<Return> {
public:
    generator<Yield, Send, Return> get_return_object() noexcept;
    auto initial_suspend() noexcept { return frame_start<generator_promise>(*this); }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { error_ = std::current_exception(); }

    template <std::convertible_to<Yield> U = Yield>
    auto yield_value(U&& value) {
        value_.emplace(std::forward<U>(value));
        return this->yielded();
    }
    /// Deleted: a generator is not run by a worker, so there is nothing it could wait for.
    template <class T>
    void await_transform(T&&) = delete;

    void resume() {
        if (std::exchange(runs_, true))
            throw std::logic_error("generator: its body asks for its own values");
        std::coroutine_handle<generator_promise>::from_promise(*this).resume();
        runs_ = false;
    }
    [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
    Yield take_value() {
        Yield result = std::move(*value_);
        value_.reset();
        return result;
    }
    void rethrow_if_failed() const {
        if (error_) {
            std::rethrow_exception(error_);
        }
    }

private:
    std::optional<Yield> value_;
    std::exception_ptr error_;
    bool runs_ = false;
};

} // namespace detail

/// A coroutine that its caller drives, value by value, and that can be answered (the references'
/// Coroutine[S, E]; Python's generator). Move-only; one thread at a time.
///
/// `co_yield value` gives a value out. When the caller goes on, the co_yield expression is what the
/// caller has sent meanwhile: a `std::optional<Send>`, empty if nothing was sent; void if Send is
/// void. `co_return` gives the result. It cannot co_await.
///
///     while (g.has_more()) {          // runs the body to its next co_yield, or to its end
///         use(g.next());              // takes the value
///         g.send(answer);             // what that co_yield returns when the body goes on
///     }
///     use(g.result());
///
/// A moved-from generator has no body: using it ends the program with a message.
///
/// An exception in the body ends it and is thrown by the has_more() or next() that ran it. A body
/// that calls these of its own generator gets a std::logic_error.
template <class Yield, class Send, class Return>
class [[nodiscard]] generator {
    static_assert(std::is_object_v<Yield>, "yield a value or a pointer");

public:
    using promise_type = detail::generator_promise<Yield, Send, Return>;
    using handle = std::coroutine_handle<promise_type>;
    using yield_type = Yield;
    using send_type = Send;
    using return_type = Return;

    explicit generator(handle body) noexcept : body_(body) {}
    generator(generator&& other) noexcept
        : body_(std::exchange(other.body_, nullptr)), started_(other.started_) {}
    generator& operator=(generator&& other) noexcept {
        if (this != &other) {
            reset();
            body_ = std::exchange(other.body_, nullptr);
            started_ = other.started_;
        }
        return *this;
    }
    ~generator() { reset(); }

    /// Returns whether there is a value to take, running the body if that is not known yet. A value
    /// that has not been taken stays: the body does not go on before next().
    bool has_more() {
        if (done()) {
            return false;
        }
        if (body_.promise().has_value()) {
            return true;
        }
        started_ = true;
        body_.promise().resume();
        if (body_.done()) {
            body_.promise().rethrow_if_failed();
        }
        return body_.promise().has_value();
    }

    /// Returns the next value. Throws std::out_of_range when there is no more.
    Yield next() {
        if (!has_more()) {
            throw std::out_of_range("generator: no more values");
        }
        return body_.promise().take_value();
    }

    /// Sends `value` and returns the value that the body answers with (Python's send).
    template <class U>
    requires(!std::is_void_v<Send>) Yield next(U&& value) {
        send(std::forward<U>(value));
        return next();
    }

    /// Leaves `value` for the body: the co_yield whose value was taken last returns it. A second
    /// value before the body goes on replaces the first. Throws std::logic_error where no co_yield
    /// is there to return it: no value has been taken yet, the next one waits already, or the body
    /// has ended.
    template <class U>
    requires(!std::is_void_v<Send>) void send(U&& value) {
        if (!started_ || done() || body_.promise().has_value()) {
            throw std::logic_error("generator: nothing waits for a value to be sent");
        }
        body_.promise().send(std::forward<U>(value));
    }

    /// Returns true once the body has ended, normally or by an exception.
    [[nodiscard]] bool done() const noexcept {
        ROTA_CHECK_ALWAYS(body_, "a generator that has been moved from is not used");
        return body_.done();
    }

    /// Returns what the body returned, moved out; rethrows what ended it. Throws std::logic_error
    /// if it has not ended.
    Return result() {
        if (!done()) {
            throw std::logic_error("generator: has not ended");
        }
        body_.promise().rethrow_if_failed();
        return body_.promise().take();
    }

    /// For range loops over the yielded values; a single pass.
    class iterator {
    public:
        using value_type = Yield;
        using difference_type = std::ptrdiff_t;
        explicit iterator(generator& source) : source_(&source) { advance(); }
        Yield& operator*() const { return *current_; }
        iterator& operator++() {
            advance();
            return *this;
        }
        void operator++(int) { advance(); }
        bool operator==(std::default_sentinel_t) const noexcept { return !current_.has_value(); }

    private:
        void advance() {
            current_.reset();
            if (source_->has_more()) {
                current_.emplace(source_->next());
            }
        }
        generator* source_;
        mutable std::optional<Yield> current_;
    };
    iterator begin() { return iterator(*this); }
    std::default_sentinel_t end() const noexcept { return {}; }

private:
    void reset() noexcept {
        if (body_) {
            std::exchange(body_, nullptr).destroy();
        }
    }

    handle body_;
    bool started_ = false;
};

namespace detail {

template <class Yield, class Send, class Return>
generator<Yield, Send, Return>
generator_promise<Yield, Send, Return>::get_return_object() noexcept {
    return generator<Yield, Send, Return>(
        std::coroutine_handle<generator_promise>::from_promise(*this));
}

} // namespace detail
} // namespace rota
