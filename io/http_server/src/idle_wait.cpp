#include "idle_wait.hpp"

#include <algorithm>
#include <utility>

#include <rota/errors.hpp>
#include <rota/linked_stop.hpp>

namespace rota::http {

namespace {

using time_point = std::chrono::steady_clock::time_point;

task<bool> wait(task<bool> (io::stream::*fill)(io::deadline), io::stream* client, time_point until,
                std::stop_token draining, std::chrono::milliseconds grace) {
    const std::stop_token parent = co_await current_stop_token;
    try {
        const linked_stop either(parent, draining);
        task<bool> filling = (client->*fill)(until);
        co_return co_await filling.under(either.token());
    } catch (const timed_out&) {
        co_return false;
    } catch (const operation_cancelled&) {
        if (parent.stop_requested())
            throw;
    }
    try { // for what it has just sent
        const auto end = std::min(until, std::chrono::steady_clock::now() + grace);
        co_return co_await (client->*fill)(end);
    } catch (const timed_out&) {
        co_return false;
    }
}

} // namespace

task<bool> wait_idle(io::stream* client, time_point until, std::stop_token draining,
                     std::chrono::milliseconds grace) {
    return wait(&io::stream::fill, client, until, std::move(draining), grace);
}

task<bool> wait_more(io::stream* client, time_point until, std::stop_token draining,
                     std::chrono::milliseconds grace) {
    return wait(&io::stream::fill_more, client, until, std::move(draining), grace);
}

} // namespace rota::http
