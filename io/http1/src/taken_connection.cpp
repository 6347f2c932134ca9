#include "taken_connection.hpp"

#include <exception>
#include <utility>

#include <rota/http/detail/linger.hpp>
#include <rota/http/detail/responder.hpp>
#include <rota/http/detail/wire.hpp>

#include "wire_takeover.hpp"

namespace rota::http {

namespace {

/// Behind the taker, which has thrown that, or nothing; `cut`: the client lacks something.
task<void> end_taken(taken_connection* of, wire* over, std::exception_ptr error, bool cut) {
    of->taker = nullptr; // what it has captured ends with it
    if (error) {
        const std::stop_token stop = co_await current_stop_token;
        report_failure(error, of->asked_name, stop, over->broken(), of->hooks);
    }
    if (cut) {
        of->client->abort();
        co_return;
    }
    const bool owes_nothing = over->buffered().empty(); // whatever is left is no request
    const auto in_drain = owes_nothing ? of->limits->drain_grace : drain_linger;
    co_await linger(over, of->limits->linger_timeout, of->draining, in_drain);
}

} // namespace

task<void> serve_taken(taken_connection of) {
    wire over(*of.client, *of.limits, *of.counters);
    std::exception_ptr error;
    bool cut = false;
    try {
        const worker_counters::held counted(of.counters->connections_taken_over);
        wire_takeover client(over, of.asked, *of.limits, of.draining);
        try {
            co_await rota::detail::returned(of.taker(client));
        } catch (...) {
            error = std::current_exception();
            cut = !client.is_all_told();
        }
    } catch (...) {
        error = std::current_exception();
        cut = true;
    }
    co_await end_taken(&of, &over, std::move(error), cut);
}

} // namespace rota::http
