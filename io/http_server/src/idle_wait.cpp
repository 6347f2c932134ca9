#include "idle_wait.hpp"

#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>

namespace rota::http {

task<bool> wait_idle(io::stream* client, std::chrono::steady_clock::time_point until,
                     std::stop_token draining, std::chrono::milliseconds grace) {
    const std::stop_token parent = co_await current_stop_token;
    try {
        const linked_stop either(parent, draining);
        task<bool> filling = client->fill(until);
        const bool more = co_await filling.under(either.token());
        co_return more;
    } catch (const timed_out&) {
        co_return false;
    } catch (const operation_cancelled&) {
        if (parent.stop_requested())
            throw;
    }
    try { // for what it has just sent
        const bool more = co_await client->fill(std::chrono::steady_clock::now() + grace);
        co_return more;
    } catch (const timed_out&) {
        co_return false;
    }
}

} // namespace rota::http
