// The part of session.hpp in which a handler takes the connection over.

#include <optional>
#include <utility>

#include <rota/http/error.hpp>

#include "session.hpp"
#include "taken_connection.hpp"

namespace rota::http {

/// True if the connection is not given away, but the request answered as any other.
task<bool> session::refuses_takeover(const response* answer) {
    if (const std::optional<response> refusal = responder_.refusal_of(*answer)) {
        refuse_takeover(*refusal);
        co_return true;
    }
    const bool tunnel = answer->is_tunnel();
    const std::string_view protocol = answer->headers().find("Upgrade").value_or("");
    if (!tunnel && !responder_.asked().offers_upgrade(protocol)) {
        response required =
            responder_.error_answer(http_error(426, "this is for " + std::string(protocol)));
        required.header("Upgrade", protocol);
        refuse_takeover(required);
        co_return true;
    }
    if (watch_.draining()) {
        refuse_takeover(responder_.error_answer(http_error(503, "the server is about to end")));
        co_return true;
    }
    // Content comes before the other protocol, and 100 before that (RFC 9110 section 7.8).
    bool read = parser_.complete();
    const bool is_short = body_.left().value_or(0) <= limits_.drain_bytes_max;
    if (!read && is_short && !body_.failed()) {
        try {
            read = co_await body_.drain(limits_.drain_bytes_max);
        } catch (const http_error&) { // said below
        }
    }
    if (!read) {
        response refusal =
            responder_.error_answer(http_error(400, "content before another protocol"));
        refuse_takeover(refusal.close());
        co_return true;
    }
    co_return false;
}

void session::refuse_takeover(const response& answer) {
    append_small(answer);
    responder_.account(answer);
}

/// From here on the connection is no more HTTP: see serve_taker().
task<exchange_end> session::hand_over(response* answer) {
    const bool refused = co_await refuses_takeover(answer);
    if (refused)
        co_return exchange_end::answered;
    body_.release();
    body_.keep_nothing();
    if constexpr (checks_enabled)
        answer_begun_ = true;
    append_takeover_head(wire_.pending(), *answer);
    responder_.account(*answer);
    if (!wire_.try_send())
        co_await wire_.send();
    request_forgotten_ = answer->forgets_request();
    taken_over_ = std::move(answer->taker());
    co_return exchange_end::handed_over;
}

task<void> session::serve_taker() {
    const request* const asked = request_forgotten_ ? nullptr : &responder_.asked();
    counted_off_ = true;
    return serve_taken({.client = &wire_.stream(),
                        .limits = &limits_,
                        .counters = &counters_,
                        .hooks = control_.hooks,
                        .draining = control_.draining,
                        .open = counted_open(counters_),
                        .taker = std::move(taken_over_),
                        .asked = asked,
                        .asked_name = responder_.asked_name()});
}

} // namespace rota::http
