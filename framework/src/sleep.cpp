#include <rota/sleep.hpp>

#include <rota/routine.hpp>
#include <rota/sleep_awaiter.hpp>
#include <rota/worker.hpp>

namespace rota {
task<void> sleep_until(std::chrono::steady_clock::time_point when, std::source_location where) {
    sleep_awaiter wait(when, where);
    co_await wait;
}

task<void> sleep_for(time_span length, std::source_location where) {
    routine& self = co_await current_routine;
    sleep_awaiter wait(deadline_after(self.home().now(), length), where);
    co_await wait;
}

} // namespace rota
