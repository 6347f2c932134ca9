#include <rota/sleep.hpp>

#include <rota/owner_wait.hpp>
#include <rota/routine.hpp>
#include <rota/timer_wheel.hpp>
#include <rota/worker.hpp>

namespace rota {
namespace {

class sleep_awaiter final : public owner_wait, private timer {
public:
    sleep_awaiter(timer_wheel::time_point when, const std::source_location& where) noexcept
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

} // namespace

task<void> sleep_until(std::chrono::steady_clock::time_point when, std::source_location where) {
    sleep_awaiter wait(when, where);
    co_await wait;
}

task<void> sleep_for(std::chrono::steady_clock::duration length, std::source_location where) {
    routine& self = co_await current_routine;
    sleep_awaiter wait(deadline_after(self.home().now(), length), where);
    co_await wait;
}

} // namespace rota
