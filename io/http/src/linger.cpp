#include <rota/http/detail/linger.hpp>

#include <algorithm>

#include <rota/detail/timer_wheel.hpp>
#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>
#include <rota/routine.hpp>
#include <rota/worker.hpp>

namespace rota::http {

task<void> linger(wire* over, std::chrono::milliseconds limit, std::stop_token draining,
                  std::chrono::milliseconds in_drain) {
    const std::stop_token stop = co_await current_stop_token;
    const routine& self = co_await current_routine;
    const auto until = deadline_after(self.home().now(), limit);
    {
        const linked_stop either(stop, draining);
        try {
            task<void> lingering = over->linger(limit);
            co_await lingering.under(either.token());
            co_return;
        } catch (const operation_cancelled&) {
            if (stop.stop_requested())
                throw;
        }
    }
    std::uint64_t before = 0;
    do {
        before = over->consumed();
        co_await over->linger(std::min(limit, in_drain));
    } while (over->consumed() != before && !over->stream().peer_closed() &&
             self.home().now() < until);
}

} // namespace rota::http
