#pragma once

#include <coroutine>

#include <rota/errors.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>

namespace rota {

/// The awaiter that yield() returns.
class [[nodiscard]] yield_awaiter {
public:
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
        cancelled_ = self.promise().stop_token().stop_requested();
        if (!cancelled_) {
            self.promise().current_routine().yield(self);
        }
        return !cancelled_;
    }
    void await_resume() const {
        if (cancelled_) {
            throw operation_cancelled();
        }
    }

private:
    bool cancelled_ = false;
};

/// `co_await yield();` puts the routine after the others that its worker has ready. A long
/// computation does this now and then, since nothing else interrupts it. Throws operation_cancelled
/// when stop has been requested.
inline yield_awaiter yield() noexcept { return {}; }

} // namespace rota
