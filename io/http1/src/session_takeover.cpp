// The part of session.hpp in which a handler takes the connection over.

#include <exception>
#include <utility>

#include <rota/http/takeover.hpp>

#include "session.hpp"

namespace rota::http {
namespace {

/// Counts a connection that is another protocol's.
class taken_over {
public:
    explicit taken_over(worker_counters& counters) noexcept : counters_(counters) {
        counters_.connections_taken_over.add(1);
    }
    taken_over(const taken_over&) = delete;
    taken_over& operator=(const taken_over&) = delete;
    ~taken_over() { counters_.connections_taken_over.subtract(1); }

private:
    worker_counters& counters_;
};

} // namespace

/// True if the connection is not given away, but the request answered as any other.
task<bool> session::refuses_takeover(const response* answer) {
    const bool asks_tunnel = parser_.head().form == target_form::authority;
    if (answer->is_tunnel() != asks_tunnel) {
        report(
            std::make_exception_ptr(std::logic_error(
                "response::tunnel() is for CONNECT, response::upgrade() for all other requests")),
            *request_, control_.hooks);
        append_small(error_answer(http_error(500, ""), &match_));
        co_return true;
    }
    const std::string_view protocol = answer->headers().find("Upgrade").value_or("");
    if (!asks_tunnel && !request_->offers_upgrade(protocol)) {
        response required =
            error_answer(http_error(426, "this is for " + std::string(protocol)), &match_);
        required.header("Upgrade", protocol);
        required.headers().append_trusted("Connection: Upgrade\r\n");
        append_small(required);
        co_return true;
    }
    if (watch_.draining()) {
        append_small(error_answer(http_error(503, "the server is about to end"), &match_));
        co_return true;
    }
    // Content comes before the other protocol (RFC 9110 section 7.8). A client that waits to be
    // invited to send it may do that or not, so there is no telling what comes next.
    bool read = parser_.complete();
    if (!read && !body_.failed() && !body_.continue_owed()) {
        try {
            read = co_await body_.drain(limits_.drain_bytes_max);
        } catch (const http_error&) { // said below
        }
    }
    if (!read) {
        response refusal =
            error_answer(http_error(400, "content before another protocol"), &match_);
        append_small(refusal.close());
        co_return true;
    }
    co_return false;
}

/// From here on the connection is no more HTTP; it ends with its taker.
task<session::progress> session::hand_over(response* answer) {
    const bool refused = co_await refuses_takeover(answer);
    if (refused)
        co_return progress::go_on;
    body_.release();
    if constexpr (checks_enabled)
        answer_begun_ = true;
    append_takeover_head(wire_.pending(), *answer);
    account(answer->status());
    if (!wire_.try_send())
        co_await wire_.send();
    std::exception_ptr error;
    try {
        const taken_over counted(counters_);
        takeover client(wire_, *request_, limits_, control_.draining);
        co_await answer->taker()(client);
    } catch (...) {
        error = std::current_exception();
    }
    if (error) {
        (void)failure_of(error); // reported; or it is the end of the client, or of all
        wire_.stream().abort();
        co_return progress::gone;
    }
    parser_.reset(); // whatever is left of the client's is no request
    co_return progress::close;
}

} // namespace rota::http
