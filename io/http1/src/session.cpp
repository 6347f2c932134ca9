#include "session.hpp"

#include <memory>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/routine.hpp>
#include <rota/yield.hpp>

namespace rota::http {
namespace {

/// Content up to this size is copied behind its head; larger content is handed over as it is.
constexpr std::size_t copied_content_max = 16'384;
/// Larger content goes in pieces of this size, each of which has its own time.
constexpr std::size_t sent_piece_max = 131'072;

/// All that a connection has ever been sent fits into the kernel's buffer if it is no more.
constexpr std::size_t sent_at_once_max = 16'384;

/// Counts a request whose handler runs.
class in_flight {
public:
    explicit in_flight(worker_counters& counters) noexcept : counters_(counters) {
        counters_.requests_in_flight.add(1);
    }
    in_flight(const in_flight&) = delete;
    in_flight& operator=(const in_flight&) = delete;
    ~in_flight() { counters_.requests_in_flight.subtract(1); }

private:
    worker_counters& counters_;
};

bool is_small(const response& answer) noexcept {
    return answer.is_whole() && answer.body().size() <= copied_content_max;
}

} // namespace

task<void> session::serve() {
    progress then = progress::go_on;
    while (then == progress::go_on) {
        const parse_event event = next_head();
        if (event == parse_event::need_more) {
            // Here, not in a coroutine of its own: nearly every request comes this way.
            if (!wire_.try_send())
                co_await wire_.send();
            unpaid_ = false;
            if (std::exchange(spent_, false)) {
                co_await yield();
                continue;
            }
            const bool idle = !parser_.started();
            wait_end how = wait_end::peer_ended;
            task<bool> filling = wire_.stream().fill(head_deadline());
            const std::stop_token& until = idle ? watch_.idle_token() : stop_;
            if (idle)
                watch_.enter_idle();
            try {
                const bool more = co_await filling.under(until);
                if (more)
                    how = wait_end::arrived;
            } catch (const timed_out&) {
                how = wait_end::late;
            } catch (const operation_cancelled&) {
                if (stop_.stop_requested())
                    throw;
                how = wait_end::drained;
            }
            if (idle)
                watch_.leave_idle();
            if (how == wait_end::late && idle && requests_ > 0) {
                if (wire_.still_takes()) { // its last answers: it does not idle
                    since_ = home_.turn_time();
                    continue;
                }
                if (may_rest() && wire_.buffered().empty()) {
                    begin_rest();
                    co_return;
                }
            }
            if (how != wait_end::arrived)
                then = co_await end_without_head(how, idle);
            continue;
        }
        if (event == parse_event::error || refuses()) {
            if (event == parse_event::error)
                answer_bad_request(parser_.error().status, parser_.error().reason);
            else
                answer_refused();
            consume_head();
            then = progress::close;
            break;
        }
        if (!answer_directly())
            then = co_await answer_by_dispatch();
        if (then == progress::go_on && !parser_.complete())
            then = co_await drop_body();
        if (then == progress::go_on)
            then = end_request();
        if (wire_.pending().size() >= limits_.output_batch_bytes && !wire_.try_send())
            co_await wire_.send();
    }
    if (then == progress::gone)
        co_return;
    if (!wire_.try_send())
        co_await wire_.send();
    // So few bytes the kernel takes at once, and nothing of the client's can meet them.
    if (client_is_done_ && sent_earlier_ + wire_.sent() <= sent_at_once_max)
        co_return;
    co_await linger();
}

// --- Reading a head ---

/// Reads as far as what has arrived goes. After `head` its bytes are still in the stream,
/// head_bytes_ of them; after `error` what is wrong is. `need_more`, too, if the requests before
/// have taken all the time that this client has at once: see spent_.
parse_event session::next_head() {
    for (;;) {
        const std::string_view bytes = wire_.buffered();
        if (bytes.empty())
            return parse_event::need_more;
        if (std::exchange(unpaid_, false) && home_.spend(answered_)) {
            spent_ = true;
            return parse_event::need_more;
        }
        const auto [event, consumed] = parser_.feed(bytes);
        if (event == parse_event::need_more) {
            wire_.consume(consumed);
            continue;
        }
        head_bytes_ = consumed;
        arrived_ = home_.turn_time();
        return event;
    }
}

/// The first head is awaited from the accept on, a later one from its first byte on; before that
/// the connection idles.
session::time_point session::head_deadline() {
    if (requests_ > 0 && parser_.started() && !head_begun_) {
        head_begun_ = true;
        since_ = home_.turn_time();
    }
    const bool idles = requests_ > 0 && !head_begun_;
    if (!idles)
        return since_ + limits_.header_timeout;
    if (may_rest())
        return since_ + limits_.rest_after;
    return since_ + limits_.idle_timeout;
}

/// Whether an idle client shall rest before its time is up.
bool session::may_rest() const noexcept {
    return control_.rest != nullptr && limits_.rest_after.count() > 0 &&
           limits_.rest_after < limits_.idle_timeout;
}

/// Ends the session for a rest.
void session::begin_rest() noexcept {
    *control_.rest = {.wanted = true,
                      .until = since_ + limits_.idle_timeout,
                      .requests = requests_,
                      .bytes_sent = sent_earlier_ + wire_.sent(),
                      .empty_lines = parser_.empty_lines()};
}

// --- Answering ---

/// Answers the request if that takes neither waiting nor much room: with the head still in the
/// stream, and without a coroutine. False if it has to be answer_by_dispatch().
bool session::answer_directly() {
    body_.reset();
    request_.emplace(parser_.head(), parser_.complete() ? nullptr : &body_);
    request_->set_peer(control_.peer);
    request_->set_stream(wire_.stream());
    with_ =
        exchange{.minor = parser_.head().minor, .head_only = parser_.head().method == method::head};
    sent_before_ = wire_.sent() + wire_.pending().size();
    routes_.resolve(*request_, match_);
    const handler::plain* function = router::direct(match_);
    const bool unrouted = match_.target == nullptr && router::plain_fallback(match_);
    if ((function == nullptr && !unrouted) || parser_.head().chunked)
        return false; // chunks behind the head may have to be dropped before the answer
    response answer = call(function);
    if (!is_small(answer)) {
        ready_.emplace(std::move(answer));
        return false;
    }
    append_small(answer);
    consume_head();
    return true;
}

/// What `function`, or the router for want of one, answers.
response session::call(const handler::plain* function) {
    try {
        return function != nullptr ? (*function)(*request_) : router::fallback(*request_, match_);
    } catch (...) {
        return error_answer(failure_of(std::current_exception()), &match_);
    }
}

/// Answers the request in the general way: it keeps nothing of the stream's while the handler
/// waits.
task<session::progress> session::answer_by_dispatch() {
    parser_.keep_head();
    consume_head();
    std::optional<response> answer = std::exchange(ready_, std::nullopt);
    if (!answer) {
        std::exception_ptr error;
        try {
            const in_flight counted(counters_);
            response made = co_await router::dispatch(*request_, match_);
            answer.emplace(std::move(made));
        } catch (...) {
            error = std::current_exception();
        }
        if (error)
            answer.emplace(error_answer(failure_of(error), &match_));
    }
    if (answer->streamed())
        co_return co_await send_streamed(&*answer);
    if (answer->takes_over())
        co_return co_await hand_over(&*answer);
    if (!parser_.complete() && !body_.failed())
        body_.drop_arrived();
    if (!is_small(*answer))
        co_return co_await send_large(&*answer);
    append_small(*answer);
    co_return progress::go_on;
}

/// Whether content that has not arrived yet will be read and thrown away to keep the connection.
bool session::will_drop_rest(const response& answer) {
    // A client that waits for "100 Continue" may send the content now, or not: there is no telling
    // what comes next.
    if (body_.continue_owed())
        return false;
    if (const auto left = body_.left())
        return *left <= limits_.drain_bytes_max;
    return answer.streamed(); // the producer may read it; else nobody knows where its end is
}

/// Whether this answer is the last: what has arrived when the session sees that the server drains
/// is still served, but not what a client that pipelines on and on sends meanwhile.
bool session::is_last_of_drain() noexcept {
    if (!last_served_)
        last_served_ = wire_.consumed() + wire_.buffered().size();
    return wire_.consumed() + head_bytes_ + body_.held() >= *last_served_;
}

/// Decides whether the connection goes on behind this answer, as its head is about to say.
exchange session::begin_answer(const response& answer) {
    ROTA_CHECK(!answer_begun_, "a request is answered once");
    if constexpr (checks_enabled)
        answer_begun_ = true;
    const std::uint64_t max = limits_.requests_per_connection_max;
    with_.keep_alive = parser_.head().keep_alive && !answer.closes() && !body_.failed() &&
                       (max == 0 || requests_ + 1 < max) &&
                       choose_framing(answer, with_) != content_framing::until_close;
    if (watch_.draining() && is_last_of_drain())
        with_.keep_alive = false;
    if (!parser_.complete() && !will_drop_rest(answer))
        with_.keep_alive = false;
    body_.stop_inviting();
    return with_;
}

void session::append_small(const response& answer) {
    const content_framing framing = choose_framing(answer, with_);
    const exchange with = begin_answer(answer);
    const bool whole = sends_content(answer, with, framing);
    append_head(wire_.pending(), answer, with, framing, whole ? answer.body() : "");
    account(answer.status());
}

task<session::progress> session::send_large(response* answer) {
    const content_framing framing = choose_framing(*answer, with_);
    append_head(wire_.pending(), *answer, begin_answer(*answer), framing);
    if (sends_content(*answer, with_, framing)) {
        std::string_view rest = answer->body();
        while (!rest.empty()) {
            const std::string_view piece = rest.substr(0, sent_piece_max);
            rest.remove_prefix(piece.size());
            co_await wire_.send(piece);
        }
    }
    account(answer->status());
    co_return progress::go_on;
}

task<session::progress> session::send_streamed(response* answer) {
    const content_framing framing = choose_framing(*answer, with_);
    if (!sends_content(*answer, with_, framing)) {
        append_head(wire_.pending(), *answer, begin_answer(*answer), framing);
        account(answer->status());
        co_return progress::go_on;
    }
    response_writer writer(wire_, *answer, *this, framing);
    std::exception_ptr error;
    {
        const in_flight counted(counters_);
        error = co_await writer.run(&answer->producer());
    }
    if (!error) {
        account(answer->status());
        co_return progress::go_on;
    }
    // The client can tell by the missing end; without chunks or a length only by a reset.
    if (writer.started() && framing == content_framing::until_close)
        wire_.stream().abort();
    const http_error what = failure_of(error);
    if (!writer.started()) {
        append_small(error_answer(what, &match_));
        co_return progress::go_on;
    }
    account(answer->status());
    co_return progress::gone;
}

/// Answers what could not be read as a request; nothing can follow.
void session::answer_bad_request(int status, const char* reason) {
    answer_and_close(error_answer(http_error(status, reason), nullptr));
}

/// Answers a request without a look at what it is about.
void session::answer_refused() {
    response busy =
        error_answer(http_error(503, "the server has no room for requests now"), nullptr);
    if (!busy.headers().find("Retry-After"))
        busy.header("Retry-After", "1");
    answer_and_close(busy);
}

void session::answer_and_close(const response& answer) {
    with_ = exchange{
        .minor = 1, .head_only = parser_.head().method == method::head, .keep_alive = false};
    sent_before_ = wire_.sent() + wire_.pending().size();
    arrived_ = home_.turn_time();
    append_head(wire_.pending(), answer, with_, content_framing::sized,
                with_.head_only ? "" : answer.body());
    account(answer.status());
}

http_error session::failure_of(const std::exception_ptr& error) {
    return http::failure_of(error, *request_, stop_, wire_.broken(), control_.hooks);
}

/// What the error page of the route that was found, or of the path, makes of a failure.
response session::error_answer(const http_error& what, const route_match* found) {
    try {
        const error_page* const page = routes_.error_page_for(parser_.head(), found);
        return http::error_answer(page, what);
    } catch (...) { // the client is to have an answer
        report_page(std::current_exception(), control_.hooks);
        const bool own = !what.content_type().empty(); // what is wrong with it, perhaps
        return http::error_answer(nullptr, own ? http_error(what.status(), "") : what);
    }
}

void session::account(int status) {
    answered_ = home_.now();
    unpaid_ = true;
    const auto took = answered_ - arrived_;
    counters_.count_response(status, took);
    if (control_.hooks == nullptr || !control_.hooks->on_access)
        return;
    const request_head& head = parser_.head();
    const std::string_view target = head.base != nullptr ? head.text(head.target) : "";
    const std::string_view name = target.empty() ? "" : to_string(head.method);
    control_.hooks->on_access({control_.peer, name, target, status,
                               wire_.sent() + wire_.pending().size() - sent_before_,
                               std::chrono::duration_cast<std::chrono::microseconds>(took)});
}

task<void> serve_connection(io::stream* stream, const router* routes, const server_limits* limits,
                            session_control control) {
    routine& self = co_await current_routine;
    const std::stop_token stop = co_await current_stop_token;
    std::unique_ptr<worker_counters> uncounted;
    if (control.metrics == nullptr)
        uncounted = std::make_unique<worker_counters>();
    worker_counters& counters =
        uncounted ? *uncounted : control.metrics->of_worker(self.home().index());
    session client(*stream, *routes, *limits, control, self.home(), stop, counters);
    try {
        co_await client.serve();
    } catch (const std::system_error&) { // the client is gone, or takes nothing
    }
}

} // namespace rota::http
