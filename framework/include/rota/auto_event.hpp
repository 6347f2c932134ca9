#pragma once

#include <coroutine>
#include <mutex>
#include <source_location>
#include <utility>

#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>

namespace rota {

/// One permit to wait for: does for routines what parker does for threads (the references' coWait
/// and coNotify). notify() lets the longest waiter through or, if none waits, the next that comes.
/// Several notifications before a wait count as one. Thread-safety: any thread; it must outlive its
/// waiters.
class auto_event {
public:
    class [[nodiscard]] awaiter final : public list_awaiter {
    public:
        awaiter(auto_event& e, std::source_location where) noexcept
            : list_awaiter(e.lock_, e.waiters_, "auto_event", where), event_(e) {}
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] { return std::exchange(event_.permit_, false); });
        }
        void await_resume() { finish(); }

    private:
        auto_event& event_;
    };

    auto_event() = default;
    auto_event(const auto_event&) = delete;
    auto_event& operator=(const auto_event&) = delete;

    /// `co_await e.wait();` takes the permit, waiting for it if need be. Throws
    /// operation_cancelled, having taken none.
    awaiter wait(std::source_location where = std::source_location::current()) noexcept {
        return {*this, where};
    }
    void notify() noexcept;

private:
    std::mutex lock_;   // guards what follows
    wait_list waiters_; // empty while there is a permit
    bool permit_ = false;
};

} // namespace rota
