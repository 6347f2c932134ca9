#pragma once

#include <coroutine>
#include <cstddef>
#include <mutex>
#include <source_location>

#include <rota/list_awaiter.hpp>
#include <rota/task.hpp>
#include <rota/wait_list.hpp>

namespace rota {

/// Counts down to zero once; then it is open for good. Thread-safety: any thread; it must outlive
/// its waiters and the calls that count.
class latch {
public:
    class [[nodiscard]] awaiter final : public list_awaiter {
    public:
        awaiter(latch& l, std::source_location where) noexcept
            : list_awaiter(l.lock_, l.waiters_, "latch", where), latch_(l) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return latch_.count_ == 0; });
        }
        void await_resume() { finish(); }

    private:
        latch& latch_;
    };

    explicit latch(std::size_t count) noexcept : count_(count) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    /// `co_await l.wait();` waits until the count is zero. Throws operation_cancelled.
    awaiter wait(std::source_location where = std::source_location::current()) noexcept {
        return {*this, where};
    }
    /// Counts down by `count`, not below zero; at zero wakes all waiters.
    void count_down(std::size_t count = 1) noexcept;
    /// Counts down by one and waits.
    task<void> arrive_and_wait(std::source_location where = std::source_location::current());
    [[nodiscard]] bool is_open() const;

private:
    mutable std::mutex lock_; // guards what follows
    wait_list waiters_;       // empty while open
    std::size_t count_;
};

} // namespace rota
