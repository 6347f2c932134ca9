#pragma once

#include <coroutine>
#include <source_location>

#include <rota/detail/timer_wheel.hpp>
#include <rota/owner_wait.hpp>
#include <rota/routine.hpp>
#include <rota/worker.hpp>

namespace rota {

/// Waits for a timer of the worker's wheel: what sleep_until() is made of, for a coroutine that has
/// to wait although there may be no memory. A variable of the coroutine, awaited once.
class sleep_awaiter final : public owner_wait, private timer {
public:
    explicit sleep_awaiter(
        timer_wheel::time_point when,
        const std::source_location& where = std::source_location::current()) noexcept
        : owner_wait("sleep", where), timer(&sleep_awaiter::fire), when_(when) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return wait(self, [this] {
            owner().home().timers().arm(*this, when_);
            return true;
        });
    }
    void await_resume() { finish(); }

private:
    static void fire(timer& self) noexcept { static_cast<sleep_awaiter&>(self).complete(); }
    bool withdraw() noexcept override {
        owner().home().timers().disarm(*this);
        return true;
    }

    const timer_wheel::time_point when_;
};

} // namespace rota
