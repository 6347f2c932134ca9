#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

namespace rota {
namespace detail {

/// A FIFO in one piece of memory for `capacity` values.
template <class T>
class ring {
public:
    explicit ring(std::size_t capacity)
        : capacity_(capacity),
          values_(capacity == 0 ? nullptr : std::allocator<T>().allocate(capacity)) {}
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;
    ~ring() {
        while (size_ != 0) {
            pop();
        }
        if (values_ != nullptr) {
            std::allocator<T>().deallocate(values_, capacity_);
        }
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }

    void push(T&& value) noexcept {
        const std::size_t at = first_ + size_;
        std::construct_at(values_ + (at < capacity_ ? at : at - capacity_), std::move(value));
        ++size_;
    }
    T pop() noexcept {
        T* const at = values_ + first_;
        T value = std::move(*at);
        std::destroy_at(at);
        first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
        --size_;
        return value;
    }

private:
    const std::size_t capacity_;
    T* const values_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

/// Whether the compiler destroys twice a T that is made within an awaited expression, without a
/// warning: GCC 12 does so if it is an aggregate that needs a destructor.
template <class T>
inline constexpr bool destroyed_twice =
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    std::is_aggregate_v<T> && !std::is_trivially_destructible_v<T>;
#else
    false;
#endif

} // namespace detail

/// A bounded queue between any number of producers and consumers (the references' CoQueue).
///
/// Values leave in the order in which they came, and each side is served first come first served: a
/// value goes straight to the longest waiting consumer, a free place to the longest waiting
/// producer, so none overtakes. close() ends it: producers are refused from then on, consumers take
/// what is left and then get nothing. A wait that is cancelled has taken and given nothing.
///
/// Capacity 0 is a rendezvous: push() waits until a consumer takes the value. Thread-safety: any
/// thread; it must outlive its waiters. T moves without throwing.
template <class T>
class channel {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "values change hands under a lock: moving them must not throw");

public:
    class push_awaiter;
    class pop_awaiter;

    explicit channel(std::size_t capacity) : values_(capacity) {}
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    /// `co_await c.push(value)` waits for a place. Gives true, or false if the channel is or gets
    /// closed; the value is then dropped, as it is when the wait is cancelled
    /// (operation_cancelled).
    template <class = void>
    requires(!detail::destroyed_twice<T>) push_awaiter
        push(T value, std::source_location where = std::source_location::current()) {
        return push_awaiter(*this, where, std::move(value));
    }
    /// Does the same for a T that GCC 12 would destroy twice if it were made within the co_await
    /// (`push(job{1, text})`): an aggregate with members that need a destructor. So it takes only a
    /// named value, and copies it; emplace() takes the parts, or a whole value to be moved.
    template <class U>
    requires(detail::destroyed_twice<T>&& std::same_as<std::remove_cvref_t<U>, T>) push_awaiter
        push(U&& value, std::source_location where = std::source_location::current()) {
        static_assert(std::is_lvalue_reference_v<U>,
                      "GCC 12 destroys an aggregate twice that is made within co_await: write "
                      "emplace(its parts...), or emplace(std::move(it))");
        return push_awaiter(*this, where, value);
    }
    /// Does what push() does, with a T made of `parts`: `co_await jobs.emplace(id,
    /// std::move(text))`. Makes the value at once. blocked() shows this header as the place of the
    /// wait.
    template <class... Parts>
    requires std::constructible_from<T, Parts...> push_awaiter emplace(Parts&&... parts) {
        return push_awaiter(*this, std::source_location::current(), std::forward<Parts>(parts)...);
    }
    /// `co_await c.pop()` waits for a value; gives nothing once the channel is closed and empty.
    /// Throws operation_cancelled.
    pop_awaiter pop(std::source_location where = std::source_location::current()) {
        return pop_awaiter(*this, where);
    }

    /// Pushes without waiting. Returns false if that is not possible or the channel is closed, and
    /// leaves `value` as it was.
    [[nodiscard]] bool try_push(T&& value) {
        waiter* other = nullptr;
        bool pushed = false;
        {
            const std::lock_guard guard(lock_);
            pushed = !closed_ && give(value, other);
        }
        wait_list::wake_one(other);
        return pushed;
    }
    [[nodiscard]] bool try_push(const T& value) requires std::copy_constructible<T> {
        return try_push(T(value));
    }

    /// Pops without waiting. Returns nothing if there is no value.
    [[nodiscard]] std::optional<T> try_pop() {
        std::optional<T> result;
        waiter* other = nullptr;
        {
            const std::lock_guard guard(lock_);
            take(result, other);
        }
        wait_list::wake_one(other);
        return result;
    }

    /// Refuses new values and wakes all waiters. Idempotent.
    void close() noexcept {
        waiter* producers = nullptr;
        waiter* consumers = nullptr;
        {
            const std::lock_guard guard(lock_);
            closed_ = true;
            producers = producers_.release();
            consumers = consumers_.release();
        }
        wait_list::wake_chain(producers);
        wait_list::wake_chain(consumers);
    }

    [[nodiscard]] bool closed() const {
        const std::lock_guard guard(lock_);
        return closed_;
    }
    /// Returns how many values can be taken.
    [[nodiscard]] std::size_t size() const {
        const std::lock_guard guard(lock_);
        return values_.size();
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return values_.capacity(); }

private:
    /// Moves `value` to the longest waiting consumer (`other`: to be woken), or to a free place.
    bool give(T& value, waiter*& other) noexcept {
        if (waiter* const consumer = consumers_.pop_front(); consumer != nullptr) {
            pop_awaiter::of(*consumer).result_.emplace(std::move(value));
            other = consumer;
            return true;
        }
        if (values_.full()) {
            return false;
        }
        values_.push(std::move(value));
        return true;
    }

    /// Takes the oldest value, and moves up that of the longest waiting producer (`other`: to be
    /// woken).
    bool take(std::optional<T>& result, waiter*& other) noexcept {
        if (values_.size() != 0) {
            result.emplace(values_.pop());
        }
        if (waiter* const producer = producers_.pop_front(); producer != nullptr) {
            push_awaiter& awaiter = push_awaiter::of(*producer);
            awaiter.pushed_ = true;
            if (result) {
                values_.push(std::move(awaiter.value_));
            } else {
                result.emplace(std::move(awaiter.value_));
            }
            other = producer;
        }
        return result.has_value();
    }

    mutable std::mutex lock_; // guards everything below
    detail::ring<T> values_;
    wait_list producers_; // wait only while there is no free place
    wait_list consumers_; // wait only while there is no value
    bool closed_ = false;
};

template <class T>
class [[nodiscard]] channel<T>::push_awaiter final : public list_awaiter {
public:
    template <class... Parts>
    push_awaiter(channel& c, std::source_location where, Parts&&... parts)
        : list_awaiter(c.lock_, c.producers_, "channel::push", where), channel_(c),
          value_(std::forward<Parts>(parts)...) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        waiter* other = nullptr;
        const bool waits = wait_unless(self, [&] {
            if (channel_.closed_) {
                return true;
            }
            pushed_ = channel_.give(value_, other);
            return pushed_;
        });
        wait_list::wake_one(other);
        return waits;
    }
    bool await_resume() {
        finish();
        return pushed_;
    }

private:
    friend class channel;
    static push_awaiter& of(waiter& w) noexcept { return static_cast<push_awaiter&>(w); }

    channel& channel_;
    T value_;
    bool pushed_ = false;
};

template <class T>
class [[nodiscard]] channel<T>::pop_awaiter final : public list_awaiter {
public:
    pop_awaiter(channel& c, std::source_location where) noexcept
        : list_awaiter(c.lock_, c.consumers_, "channel::pop", where), channel_(c) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        waiter* other = nullptr;
        const bool waits =
            wait_unless(self, [&] { return channel_.take(result_, other) || channel_.closed_; });
        wait_list::wake_one(other);
        return waits;
    }
    std::optional<T> await_resume() {
        finish();
        return std::move(result_);
    }

private:
    friend class channel;
    static pop_awaiter& of(waiter& w) noexcept { return static_cast<pop_awaiter&>(w); }

    channel& channel_;
    std::optional<T> result_;
};

} // namespace rota
