#pragma once

#include <coroutine>
#include <mutex>
#include <source_location>

#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

namespace rota {

/// A flag to wait for, reset by hand: set() lets all through until reset(). Thread-safety: any
/// thread; it must outlive its waiters.
class event {
public:
    class [[nodiscard]] awaiter final : public list_awaiter {
    public:
        awaiter(event& e, std::source_location where) noexcept
            : list_awaiter(e.lock_, e.waiters_, "event", where), event_(e) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return event_.set_; });
        }
        void await_resume() { finish(); }

    private:
        event& event_;
    };

    explicit event(bool set = false) noexcept : set_(set) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    /// `co_await e.wait();` waits until the event is set. What set() has woken goes on even if
    /// reset() follows. Throws operation_cancelled.
    awaiter wait(std::source_location where = std::source_location::current()) noexcept {
        return {*this, where};
    }
    /// Sets it and wakes all waiters.
    void set() noexcept;
    void reset() noexcept;
    [[nodiscard]] bool is_set() const;

private:
    mutable std::mutex lock_; // guards what follows
    wait_list waiters_;       // empty while set
    bool set_;
};

} // namespace rota
