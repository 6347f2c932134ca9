#include "request_stream.hpp"

#include <algorithm>
#include <system_error>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/http/status.hpp>

namespace rota::http::h2 {
namespace {

/// Content up to this size is copied: that costs less than to share it.
constexpr std::size_t copied_answer_max = 4'096;

std::system_error gone() {
    return std::system_error(std::make_error_code(std::errc::connection_reset));
}

/// Of an answer to a stream that is closed before it has begun.
exchange::delivery reset_before() {
    return {.error = std::make_exception_ptr(gone()), .begun = true};
}

} // namespace

request_stream::request_stream(const stream_place& place, std::int32_t id) noexcept
    : place_(place), id_(id), fields_(place.limits.parser),
      content_(place.by, place.on, fields_, place.limits, place.home, place.control.content_memory),
      responder_(*this, {place.routes, place.control.hooks, place.home, stop_, place.counters}),
      room_(place.home) {
    content_.begin(id, true);
}

// --- Answering ---

bool request_stream::answer_at_once() {
    const bool reads = !content_.ended() || content_.has_arrived();
    responder_.begin(fields_.head(), reads ? &content_ : nullptr);
    return !is_for_takeover() && responder_.try_answer();
}

/// Gives the answer up if it cannot be given: the client is told that.
task<void> request_stream::answer() {
    const std::stop_token parent = co_await current_stop_token;
    linked_stop<1> stop(parent);
    stopper_ = &stop;
    stop_ = stop.token();
    exchange_end how = exchange_end::cut;
    std::exception_ptr error;
    try {
        if (closed_)
            throw gone(); // before it began
        {
            task<exchange_end> answering = responder_.answer();
            how = co_await answering.under(stop.token());
        }
        if (how == exchange_end::handed_over) {
            task<exchange_end> taking = serve_taker();
            how = co_await taking.under(stop.token());
        }
    } catch (const std::system_error&) { // the client is gone, or takes nothing
    } catch (const operation_cancelled&) {
        if (parent.stop_requested())
            error = std::current_exception();
    } catch (...) {
        error = std::current_exception();
    }
    stopper_ = nullptr;
    stop_ = {};
    responder_.account_unanswered(place_.stop.stop_requested());
    if (how == exchange_end::cut)
        give_up(error_code::internal_error);
    if (error)
        std::rethrow_exception(error);
}

void request_stream::answer_unread(const http_error& why) {
    responder_.begin_unread(fields_.head());
    response answer = responder_.error_answer(why);
    submit_whole(answer);
    responder_.account(answer);
}

void request_stream::let_go() {
    busy_ = false;
    responder_.end();
    content_.drop_rest();
    content_.keep_nothing();
}

bool request_stream::head_only() const noexcept { return fields_.head().method == method::head; }

bool request_stream::sends_content(const response& answer) const noexcept {
    return !head_only() && !status_has_no_content(answer.status()) && answer.status() != 205;
}

void request_stream::submit(const response& answer, bool content) {
    has_content_ = content;
    content_.stop_inviting();
    place_.by.answer(id_, answer, content);
    if (!answer.closes())
        return;
    place_.on.produce(); // some clients take nothing more behind GOAWAY
    place_.on.end_soon();
}

/// The answer need not be there any more.
void request_stream::submit_whole(response& answer) {
    const bool content = sends_content(answer) && !answer.body().empty();
    if (content && answer.body().size() <= copied_answer_max)
        kept_.assign(answer.body());
    else if (content)
        share(answer);
    last_ = true;
    submit(answer, content);
    place_.on.produce();
}

void request_stream::share(response& answer) {
    answer.share_owned();
    shared_ = answer.shared_content();
    external_ = shared_.view();
}

void request_stream::drop_external() noexcept {
    external_ = {};
    shared_ = {};
}

bool request_stream::try_send(response& answer) {
    if (closed_ || !answer.is_whole())
        return false;
    // What waits may never leave; send() knows how much has.
    const std::size_t size = sends_content(answer) ? answer.body().size() : 0;
    if (!place_.by.has_room(id_, size) || (size > copied_answer_max && !place_.on.takes(size)))
        return false;
    submit_whole(answer);
    return true;
}

bool request_stream::try_keep(response& answer) {
    if (closed_ || !answer.is_whole())
        return false;
    submit_whole(answer);
    return true;
}

void request_stream::end_kept() {
    responder_.account_kept(content_sent_);
    let_go();
}

task<exchange::delivery> request_stream::send(const response* answer) {
    if (closed_)
        co_return reset_before();
    delivery done{.error = nullptr, .begun = true};
    last_ = true;
    if (!sends_content(*answer) || answer->body().empty()) {
        submit(*answer, false);
        place_.on.flush();
        co_return done;
    }
    shared_ = answer->shared_content();
    external_ = shared_.view();
    done.bytes = external_.size();
    submit(*answer, true);
    try {
        co_await send_external(shared_.view());
    } catch (...) {
        done.error = std::current_exception();
        done.bytes = content_sent_;
    }
    co_return done;
}

task<exchange::delivery> request_stream::stream(response* answer) {
    if (closed_)
        co_return reset_before();
    delivery done;
    if (!sends_content(*answer)) {
        last_ = true;
        submit(*answer, false);
        place_.on.flush();
        co_return done;
    }
    answer_ = begun_answer_ = answer;
    try {
        co_await rota::detail::returned(answer->producer()(*this));
        end_content();
        co_await wait_sent(0); // it is not sent before it has left
    } catch (...) {
        done.error = std::current_exception();
    }
    done.begun = answer_ == nullptr;
    done.bytes = done.error ? content_sent_ : written_;
    answer_ = begun_answer_ = nullptr;
    co_return done;
}

// --- What happens to it ---

void request_stream::check_open() const {
    if (closed_ && !end_sent_)
        throw gone();
}

/// Whether nothing of it can be given up any more. A tunnel goes on in one direction when the other
/// has ended; of a request that has been answered nobody needs the rest.
bool request_stream::over() const noexcept {
    return end_sent_ && (!taken_over_ || content_.ended());
}

void request_stream::give_up(error_code why) noexcept {
    if (closed_ || over())
        return;
    last_ = false;
    kept_.clear();
    kept_from_ = 0;
    drop_external();
    try {
        place_.by.reset(id_, why);
        place_.on.flush();
    } catch (const std::bad_alloc&) { // the connection will say so by itself
    }
}

void request_stream::end_waits() noexcept {
    const bool cut = !over();
    if (cut)
        content_.lose();
    gone_.set();
    room_.notify();
    if (stopper_ != nullptr && cut)
        stopper_->request_stop();
}

task<bool> request_stream::client_gone() {
    co_await gone_.wait();
    co_return true;
}

void request_stream::sent(std::size_t bytes, bool last) noexcept {
    sent_ += bytes;
    end_sent_ = end_sent_ || last;
}

bool request_stream::stalls(responder::time_point now, std::uint64_t sent_by_all) noexcept {
    // nghttp2 sends nothing of content without a window, not even that it has ended.
    const bool waits = has_content_ && !end_sent_ && (last_ || unsent() > 0);
    if (closed_ || !waits || !place_.by.is_held_back(id_)) {
        patience_.reset();
        return false;
    }
    // Where it is the connection's window that is used up others may go first.
    const std::uint64_t own = sent_ - std::exchange(seen_, sent_);
    const std::uint64_t all = sent_by_all - std::exchange(seen_of_all_, sent_by_all);
    if (!patience_) {
        taken_ = 0;
        patience_.emplace(place_.limits.send_timeout, now, taken_);
        return false;
    }
    taken_ += place_.by.is_connection_held_back() ? all : own;
    return patience_->look(place_.limits.send_timeout, place_.limits.send_rate_min_bytes_per_s, now,
                           taken_) <= io::send_patience::duration::zero();
}

} // namespace rota::http::h2
