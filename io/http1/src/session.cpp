#include "session.hpp"

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/http/detail/linger.hpp>
#include <rota/http/detail/rest_memo.hpp>
#include <rota/http/error.hpp>
#include <rota/routine.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

namespace rota::http {
namespace {

/// Content up to this size is copied behind its head; larger content is handed over as it is.
constexpr std::size_t copied_content_max = 16'384;
/// All that a connection has ever been sent fits into the kernel's buffer if it is no more.
constexpr std::size_t sent_at_once_max = 16'384;
/// What a client may send ahead while client_gone() watches for its end.
constexpr std::size_t read_ahead_max = 65'536;

bool is_small(const response& answer) noexcept {
    return answer.is_whole() && answer.body().size() <= copied_content_max;
}

} // namespace

/// A wait for more of a head, or for the next one: `co_await` of it says how it has ended. Not a
/// coroutine, since nearly every request comes by it.
class session::head_wait {
public:
    [[gnu::always_inline]] explicit head_wait(session& of)
        : of_(of), idle_(!of.parser_.started()),
          filling_(of.wire_.stream().fill(of.head_deadline())),
          inner_(filling_.under(idle_ ? of.watch_.idle_token() : of.stop_)) {
        if (idle_)
            of_.watch_.enter_idle();
    }
    head_wait(const head_wait&) = delete;
    head_wait& operator=(const head_wait&) = delete;
    ~head_wait() {
        if (idle_)
            of_.watch_.leave_idle();
    }

    [[nodiscard]] bool await_ready() const noexcept { return inner_.await_ready(); }
    template <class Parent>
    bool await_suspend(std::coroutine_handle<Parent> parent) {
        return inner_.await_suspend(parent);
    }
    [[gnu::always_inline]] wait_end await_resume() {
        try {
            return inner_.await_resume() ? wait_end::arrived : wait_end::peer_ended;
        } catch (const timed_out&) {
            return wait_end::late;
        } catch (const operation_cancelled&) {
            if (of_.stop_.stop_requested())
                throw;
            return wait_end::drained;
        }
    }

private:
    session& of_;
    const bool idle_;
    task<bool> filling_;
    task<bool>::awaiter inner_;
};

/// One of those that wait reads; the others hear of it.
struct session::gone_watch {
    event over;
    bool gone = false;
    bool reset = false; // and not half of it
};

/// Lets another of those that wait for the client's end go on with it.
class session::leave_gone_watch {
public:
    explicit leave_gone_watch(std::shared_ptr<gone_watch>& place) noexcept : place_(place) {}
    leave_gone_watch(const leave_gone_watch&) = delete;
    leave_gone_watch& operator=(const leave_gone_watch&) = delete;
    ~leave_gone_watch() { std::exchange(place_, nullptr)->over.set(); }

private:
    std::shared_ptr<gone_watch>& place_;
};

/// The wait for another client, while this one's rests.
class session::swap_wait {
public:
    swap_wait(session& of, io::resting_client& with) noexcept
        : of_(of), with_(with), inner_(of.control_.rests->swap(with)) {}
    swap_wait(const swap_wait&) = delete;
    swap_wait& operator=(const swap_wait&) = delete;
    ~swap_wait() { of_.client_rests_ = with_.rests; }

    [[nodiscard]] bool await_ready() const noexcept { return inner_.await_ready(); }
    template <class Parent>
    bool await_suspend(std::coroutine_handle<Parent> parent) {
        return inner_.await_suspend(parent);
    }
    bool await_resume() { return inner_.await_resume(); }

private:
    session& of_;
    const io::resting_client& with_;
    io::swap_wait inner_;
};

task<void> session::serve() {
    progress then = progress::go_on;
    while (then == progress::go_on) {
        const parse_event event = next_head();
        if (event == parse_event::need_more) {
            if (!wire_.try_send())
                co_await wire_.send();
            unpaid_ = false;
            if (std::exchange(spent_, false)) {
                co_await yield();
                continue;
            }
            const bool idle = !parser_.started();
            if (idle && requests_ > 0 && control_.rests != nullptr && may_rest()) {
                io::resting_client with{*control_.client, since_ + limits_.idle_timeout,
                                        memo_of(rest_from_here())};
                bool more = false;
                {
                    swap_wait waiting(*this, with);
                    more = co_await waiting;
                }
                if (!more)
                    co_return;
                go_on_with(with);
                continue;
            }
            wait_end how = wait_end::arrived;
            {
                head_wait waiting(*this);
                how = co_await waiting;
            }
            if (how == wait_end::late && idle)
                then = end_idling();
            else if (how != wait_end::arrived)
                then = co_await end_without_head(how, idle);
            continue;
        }
        if (event == parse_event::error || refuses() || is_misdirected()) {
            if (becomes_http2(event))
                co_return;
            answer_unread(event);
            then = progress::close;
            break;
        }
        if (!answer_at_once()) {
            // What has been answered does not wait for a handler, nor is it cut with one.
            if (!wire_.try_send())
                co_await wire_.send();
            const exchange_end how = co_await responder_.answer();
            then = after(how);
            body_.keep_nothing();
        }
        unpaid_ = true;
        if (then == progress::go_on && !parser_.complete())
            then = co_await drop_body();
        if (then == progress::go_on)
            then = end_request();
        if (wire_.pending().size() >= limits_.output_batch_bytes && !wire_.try_send())
            co_await wire_.send();
    }
    if (then == progress::close)
        co_await say_goodbye();
}

task<void> session::say_goodbye() {
    if (!wire_.try_send())
        co_await wire_.send();
    // So few bytes the kernel takes at once, and nothing of the client's can meet them.
    if (client_is_done_ && sent_earlier_ + wire_.sent() <= sent_at_once_max)
        co_return;
    const bool owes_nothing = !parser_.started() && wire_.buffered().empty();
    const auto in_drain = owes_nothing ? limits_.drain_grace : drain_linger;
    co_await linger(&wire_, limits_.linger_timeout, control_.draining, in_drain);
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
        if (std::exchange(unpaid_, false) && home_.spend(responder_.answered_at())) {
            spent_ = true;
            return parse_event::need_more;
        }
        const std::size_t empty_lines = parser_.empty_lines();
        const auto [event, consumed] = parser_.feed(bytes);
        if (event == parse_event::need_more) {
            if (parser_.empty_lines() != empty_lines)
                head_since_.reset(); // what had begun was one
            wire_.consume(consumed);
            continue;
        }
        head_bytes_ = consumed;
        return event;
    }
}

/// The first head is awaited from the accept on, a later one from its first byte on; before that
/// the connection idles.
session::time_point session::head_deadline() {
    if (requests_ == 0)
        return since_ + limits_.header_timeout;
    if (!parser_.started())
        return since_ + (may_rest() ? limits_.rest_after : limits_.idle_timeout);
    if (!head_since_)
        head_since_ = home_.turn_time();
    return *head_since_ + limits_.header_timeout;
}

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
    answer_unread(how == wait_end::late ? http_error(408, "the request comes too slowly")
                                        : http_error(400, "the request ends too early"));
    co_return progress::close;
}

/// Whether the client speaks HTTP/2, and the server takes it.
bool session::becomes_http2(parse_event event) noexcept {
    if (event != parse_event::error || control_.is_http2 == nullptr || requests_ != 0 ||
        !parser_.at_http2_preface()) {
        return false;
    }
    consume_head();
    *control_.is_http2 = true;
    return true;
}

// --- The exchange ---

/// True if the request has been answered: with the head still in the stream, and without a
/// coroutine.
bool session::answer_at_once() {
    body_.reset();
    with_ = answer_terms{.minor = head().minor, .head_only = head().method == method::head};
    responder_.begin(head(), parser_.complete() ? nullptr : &body_, parser_.repeated());
    // Content that has arrived may have to be dropped before the answer.
    if (head().chunked || head().expects_continue || !responder_.try_answer())
        return false;
    consume_head();
    return true;
}

void session::keep_head() {
    parser_.keep_head();
    consume_head();
}

task<bool> session::client_gone() {
    while (gone_watch_ != nullptr) {
        const std::shared_ptr<gone_watch> other = gone_watch_;
        co_await other->over.wait();
        if (other->gone)
            co_return other->reset;
    }
    const auto mine = std::make_shared<gone_watch>();
    gone_watch_ = mine;
    const leave_gone_watch leaving(gone_watch_);
    bool there = true;
    while (there && wire_.buffered().size() < read_ahead_max) {
        try {
            there = co_await wire_.stream().fill_more();
        } catch (const std::system_error&) {
            there = false;
            mine->reset = true;
        }
    }
    // It has sent more than anybody wants to keep: it is alive, and its end cannot be seen.
    if (there)
        co_await sleep_until(time_point::max());
    mine->gone = true;
    co_return mine->reset;
}

bool session::try_send(response& answer) {
    if (!is_small(answer))
        return false;
    drop_arrived();
    append_small(answer);
    return true;
}

task<exchange::delivery> session::send(const response* answer) {
    drop_arrived();
    const content_framing framing = choose_framing(*answer, with_);
    append_head(wire_.pending(), *answer, begin_answer(*answer, framing), framing);
    delivery done{.error = nullptr, .begun = true};
    if (!sends_content(*answer, with_, framing))
        co_return done;
    const std::uint64_t before = wire_.written();
    try {
        if (answer->is_file()) {
            const io::file_slice& content = answer->file_content();
            if (!wire_.try_send_file(content))
                co_await wire_.send_file(&content);
        } else {
            const io::shared_bytes content = answer->shared_content();
            if (!wire_.try_send_shared(content))
                co_await wire_.send_shared(content);
        }
    } catch (...) {
        done.error = std::current_exception();
    }
    done.bytes = std::max(wire_.sent(), before) - before;
    co_return done;
}

task<exchange::delivery> session::stream(response* answer) {
    delivery done;
    const content_framing framing = choose_framing(*answer, with_);
    if (!sends_content(*answer, with_, framing)) {
        append_head(wire_.pending(), *answer, begin_answer(*answer, framing), framing);
        co_return done;
    }
    const std::uint64_t before = wire_.written();
    response_writer writer(wire_, *answer, *this, framing);
    done.error = co_await writer.run(&answer->producer());
    done.begun = writer.started();
    done.bytes = std::min(writer.written(), wire_.written() - before);
    // The client can tell by the missing end; without chunks or a length only by a reset.
    if (done.error && done.begun && framing == content_framing::until_close)
        wire_.stream().abort();
    co_return done;
}

// --- Answering ---

/// What has arrived of content that its handler has left, behind a head that is out of the way.
void session::drop_arrived() {
    if (head_bytes_ == 0 && !parser_.complete() && !body_.failed())
        body_.drop_arrived();
}

/// Whether content that has not arrived yet will be read and thrown away to keep the connection.
bool session::will_drop_rest(const response& answer) {
    // A client that waits for "100 Continue", or for what is not known here, may send the content
    // now, or not: there is no telling what comes next.
    if (body_.continue_owed() || head().unfit != 0)
        return false;
    if (const auto left = body_.left())
        return *left <= limits_.drain_bytes_max;
    return answer.streamed(); // the producer may read it; else nobody knows where its end is
}

/// Whether this answer is the last: what has arrived when the session sees that the server drains
/// is still served, but not what a client that pipelines on and on sends meanwhile.
bool session::is_last_of_drain() noexcept {
    const std::string_view there = wire_.buffered();
    if (!last_served_) // an empty line behind a request is none
        last_served_ = wire_.consumed() + (there.find_last_not_of("\r\n") + 1);
    const std::size_t read = head_bytes_ + body_.held();
    std::uint64_t left = 0;
    if (!parser_.complete()) // where chunks end that are still to be read nobody knows
        left = body_.left().value_or(there.size());
    const std::uint64_t own = read + std::min<std::uint64_t>(left, there.size() - read);
    return wire_.consumed() + own >= *last_served_;
}

/// Decides whether the connection goes on behind this answer, as its head is about to say.
answer_terms session::begin_answer(const response& answer, content_framing framing) {
    ROTA_CHECK(!answer_begun_, "a request is answered once");
    if constexpr (checks_enabled)
        answer_begun_ = true;
    const std::uint64_t max = limits_.requests_per_connection_max;
    with_.keep_alive = head().keep_alive && !answer.closes() && !body_.failed() &&
                       (max == 0 || requests_ + 1 < max) && framing != content_framing::until_close;
    // Bytes of the tunnel that there is not may follow already.
    if (head().form == target_form::authority || (watch_.draining() && is_last_of_drain()))
        with_.keep_alive = false;
    if (!parser_.complete() && !will_drop_rest(answer))
        with_.keep_alive = false;
    body_.stop_inviting();
    return with_;
}

void session::append_small(const response& answer) {
    const content_framing framing = choose_framing(answer, with_);
    const answer_terms with = begin_answer(answer, framing);
    const bool whole = sends_content(answer, with, framing);
    append_head(wire_.pending(), answer, with, framing, whole ? answer.body() : "");
}

/// Answers what is wrong with the bytes, or, if nothing is, with where they went, or else that
/// there is no room for requests.
void session::answer_unread(parse_event event) {
    if (event == parse_event::error)
        answer_unread(http_error(parser_.error().status, parser_.error().reason));
    else if (is_misdirected())
        answer_unread(
            http_error(421, "this connection was made for another host, or is not secured"));
    else
        answer_unread(http_error(503, "the server has no room for requests now"));
    consume_head();
}

/// Answers without a look at what the request is about; nothing can follow.
void session::answer_unread(const http_error& why) {
    responder_.begin_unread(head());
    response answer = responder_.error_answer(why);
    with_ = {.minor = 1, .head_only = head().method == method::head, .keep_alive = false};
    append_head(wire_.pending(), answer, with_, content_framing::sized,
                with_.head_only ? "" : answer.body());
    responder_.account(answer);
}

// --- Ending ---

session::progress session::after(exchange_end how) noexcept {
    return how == exchange_end::answered ? progress::go_on : progress::gone;
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
    responder_.end();
    client_is_done_ = !head().keep_alive && wire_.buffered().empty();
    parser_.reset();
    ++requests_;
    since_ = home_.turn_time();
    head_since_.reset();
    return with_.keep_alive ? progress::go_on : progress::close;
}

task<void> serve_connection(io::stream* stream, const router* routes, const server_limits* limits,
                            session_control control) {
    routine& self = co_await current_routine;
    const std::stop_token stop = co_await current_stop_token;
    std::unique_ptr<worker_counters> own;
    worker_counters& counters = control.counters(self.home().index(), own);
    session client(*stream, *routes, *limits, control, self.home(), stop, counters);
    try {
        co_await client.serve();
        if (client.is_taken_over()) {
            task<void> next = client.serve_taker();
            if (client.is_left_behind()) {
                *control.next = std::move(next);
                co_return;
            }
            co_await std::move(next);
        }
    } catch (const std::system_error&) { // the client is gone, or takes nothing
    }
}

} // namespace rota::http
