#include "linger.hpp"

#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>

namespace rota::http {

task<void> linger(wire* over, const server_limits* limits, std::stop_token draining,
                  bool owes_nothing) {
    const std::stop_token stop = co_await current_stop_token;
    if (owes_nothing) {
        const linked_stop either(stop, draining);
        try {
            task<void> lingering = over->linger(limits->linger_timeout);
            co_await lingering.under(either.token());
            co_return;
        } catch (const operation_cancelled&) {
            if (stop.stop_requested())
                throw;
        }
    }
    const auto patience = owes_nothing ? limits->drain_grace : limits->linger_timeout;
    co_await over->linger(patience);
}

} // namespace rota::http
