// The half of session.hpp that is about ends: of a request, of a wait, of the connection.

#include <utility>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/http/error.hpp>

#include "session.hpp"

namespace rota::http {

/// A request that came together with the end of the wait, or with the drain, is still served.
task<session::progress> session::end_without_head(wait_end how, bool idle) {
    if (how == wait_end::drained) {
        try {
            const auto until = home_.now() + limits_.drain_grace;
            co_await wire_.stream().fill(until);
        } catch (const timed_out&) { // there is none
        }
    }
    if (!wire_.buffered().empty())
        co_return progress::go_on;
    if (idle)
        co_return progress::gone;
    if (how == wait_end::late) {
        answer_bad_request(408, "the request comes too slowly");
    } else {
        answer_bad_request(400, "the request ends too early");
    }
    co_return progress::close;
}

/// Takes what the handler has left of the content out of the way, if that is worth it.
task<session::progress> session::drop_body() {
    if (!with_.keep_alive)
        co_return progress::close;
    bool dropped = false;
    try {
        dropped = co_await body_.drain(limits_.drain_bytes_max);
    } catch (const http_error&) { // the answer has been given
    }
    co_return dropped ? progress::go_on : progress::close;
}

session::progress session::end_request() noexcept {
    ROTA_CHECK(answer_begun_, "no request ends without an answer");
    ROTA_CHECK(parser_.complete(), "a request ends behind its content");
    if constexpr (checks_enabled)
        answer_begun_ = false;
    body_.release();
    request_.reset();
    client_is_done_ = !parser_.head().keep_alive && wire_.buffered().empty();
    parser_.reset();
    ++requests_;
    since_ = home_.turn_time();
    head_begun_ = false;
    return with_.keep_alive ? progress::go_on : progress::close;
}

/// Lets the client read its last answer. When the server drains, one that owes nothing, all of its
/// requests having been read, has no more time for that than an idle one: it need not end by itself
/// as soon as it is told.
task<void> session::linger() {
    const bool owes_nothing = !parser_.started() && wire_.buffered().empty();
    if (owes_nothing) {
        watch_.enter_idle();
        try {
            task<void> lingering = wire_.linger(limits_.linger_timeout);
            co_await lingering.under(watch_.idle_token());
            watch_.leave_idle();
            co_return;
        } catch (const operation_cancelled&) {
            if (stop_.stop_requested())
                throw;
        }
        watch_.leave_idle();
    }
    const auto patience = owes_nothing ? limits_.drain_grace : limits_.linger_timeout;
    co_await wire_.linger(patience);
}

} // namespace rota::http
