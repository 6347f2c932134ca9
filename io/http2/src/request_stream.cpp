#include "request_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/detail/kept_text.hpp>
#include <rota/http/error.hpp>
#include <rota/http/status.hpp>

namespace rota::http::h2 {
namespace {

/// Content up to this size is copied, so that its answer need not be there until it is sent. More
/// of it costs no more where it is, and takes room but once, however many streams wait.
constexpr std::size_t copied_answer_max = 4'096;
/// The same of what is streamed.
constexpr std::size_t copied_content_max = 16'384;

/// Bytes of a file between ready() and take(), which follow each other. No frame has more.
thread_local std::array<char, 16'384> file_bytes;

[[noreturn]] void throw_gone() {
    throw std::system_error(std::make_error_code(std::errc::connection_reset));
}

} // namespace

request_stream::request_stream(const stream_place& place) noexcept
    : place_(place), fields_(place.limits.parser),
      content_(place.by, place.on, fields_, place.limits, place.home),
      responder_(*this, {place.routes, place.control.hooks, place.home, stop_, place.counters}),
      room_(place.home) {}

void request_stream::begin(std::int32_t id) noexcept {
    id_ = id;
    fields_.reset();
    content_.release();
    content_.begin(id, true);
    gone_.reset();
    detail::clear_and_trim(kept_);
    kept_from_ = 0;
    external_ = {};
    file_ = nullptr;
    file_error_ = 0;
    answer_ = begun_answer_ = nullptr;
    trailers_ = {};
    written_ = sent_ = 0;
    patience_.reset();
    drop_until.reset();
    last_ = submitted_ = end_sent_ = closed_ = busy_ = false;
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
            throw_gone(); // before it began
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
    if (how == exchange_end::cut)
        give_up(error_code::internal_error);
    if (error)
        std::rethrow_exception(error);
}

void request_stream::answer_unread(const http_error& why) {
    responder_.begin_unread(fields_.head());
    response answer = responder_.error_answer(why);
    if (why.status() == 503 && !answer.headers().find("Retry-After"))
        answer.header("Retry-After", "1");
    submit_copy(answer);
    responder_.account(answer.status());
}

void request_stream::let_go() {
    busy_ = false;
    responder_.end();
    content_.drop_rest();
}

bool request_stream::head_only() const noexcept { return fields_.head().method == method::head; }

bool request_stream::sends_content(const response& answer) const noexcept {
    return !head_only() && !status_has_no_content(answer.status()) && answer.status() != 205;
}

void request_stream::submit(const response& answer, bool content) {
    submitted_ = true;
    content_.stop_inviting();
    if (answer.closes())
        place_.on.end_soon();
    place_.by.answer(id_, answer, content);
}

void request_stream::submit_copy(const response& answer) {
    const bool content = sends_content(answer) && !answer.body().empty();
    if (content)
        kept_.assign(answer.body());
    last_ = true;
    submit(answer, content);
    place_.on.produce();
}

bool request_stream::try_send(const response& answer) {
    if (closed_ || !answer.is_whole() || answer.body().size() > copied_answer_max)
        return false;
    submit_copy(answer);
    return true;
}

task<void> request_stream::send(const response* answer) {
    check_open();
    if (!sends_content(*answer) || answer->body().empty()) {
        last_ = true;
        submit(*answer, false);
        place_.on.flush();
        co_return;
    }
    external_ = answer->body();
    last_ = true;
    submit(*answer, true);
    co_await send_external(answer->body());
}

/// The bytes are where they are until all of them have left.
task<void> request_stream::send_external(std::string_view bytes) {
    external_ = bytes;
    struct guard {
        request_stream& of;
        ~guard() {
            if (!of.external_.empty()) { // it ends otherwise
                of.external_ = {};
                of.last_ = false;
                of.give_up(error_code::internal_error);
            }
        }
    } whole{*this};
    place_.by.resume(id_);
    place_.on.flush();
    while (!external_.empty()) {
        check_open();
        signal::awaiter taken = room_.wait("a window to send in");
        co_await taken;
    }
}

task<exchange::streamed> request_stream::stream(response* answer) {
    check_open();
    streamed done;
    if (!sends_content(*answer)) {
        last_ = true;
        submit(*answer, false);
        place_.on.flush();
        co_return done;
    }
    answer_ = begun_answer_ = answer;
    try {
        co_await answer->producer()(*this);
        end_content();
    } catch (...) {
        done.error = std::current_exception();
    }
    done.begun = answer_ == nullptr;
    answer_ = begun_answer_ = nullptr;
    co_return done;
}

// --- Streaming ---

void request_stream::begin_content() {
    check_open();
    if (const response* const answer = std::exchange(answer_, nullptr))
        submit(*answer, true);
}

bool request_stream::begin_piece(std::size_t size) {
    if (size == 0)
        return false;
    const auto length = begun_answer_->length();
    if (length && size > *length - written_)
        throw std::length_error("a response longer than announced");
    begin_content();
    written_ += size;
    return true;
}

task<void> request_stream::write(std::string_view piece) {
    if (!begin_piece(piece.size()))
        co_return;
    if (piece.size() > copied_content_max) {
        co_await wait_sent(0);
        co_await send_external(piece);
        co_return;
    }
    if (kept_from_ == kept_.size() || kept_from_ >= kept_bytes_max)
        kept_.erase(0, std::exchange(kept_from_, 0));
    kept_.append(piece);
    place_.by.resume(id_);
    place_.on.flush();
    if (unsent() > kept_bytes_max)
        co_await wait_sent(kept_bytes_low);
}

task<void> request_stream::write_owned(std::string piece) {
    if (piece.size() <= copied_content_max) {
        co_await write(piece);
        co_return;
    }
    if (!begin_piece(piece.size()))
        co_return;
    co_await wait_sent(0);
    kept_ = std::move(piece);
    kept_from_ = 0;
    place_.by.resume(id_);
    place_.on.flush();
    if (unsent() > kept_bytes_max)
        co_await wait_sent(kept_bytes_low);
}

/// It is read frame by frame, as the client's windows let them leave, so that a stream that waits
/// keeps none of it; only what is not in memory is fetched ahead.
task<void> request_stream::write_file(io::file_slice part) {
    constexpr std::size_t fetched_bytes = 65'536;
    if (!begin_piece(part.size))
        co_return;
    co_await wait_sent(0);
    struct guard {
        request_stream& of;
        ~guard() { of.file_ = nullptr; }
    } lent{*this};
    // cppcheck-suppress danglingLifetime ; until `lent` ends
    file_ = &part;
    file_error_ = 0;
    for (;;) {
        place_.by.resume(id_);
        place_.on.flush();
        while (part.size > 0 && file_error_ == 0) {
            check_open();
            signal::awaiter taken = room_.wait("a window to send in");
            co_await taken;
        }
        check_open();
        if (part.size == 0)
            co_return;
        if (file_error_ != EAGAIN)
            throw std::system_error(file_error_, std::system_category(), "reading a file");
        std::string piece = co_await io::read_piece(&part, fetched_bytes);
        kept_ = std::move(piece);
        kept_from_ = 0;
        file_error_ = 0;
    }
}

/// How much of it can leave at once.
std::size_t request_stream::read_file(std::size_t bytes_max) noexcept {
    if (file_error_ != 0)
        return 0;
    const std::span<char> into(file_bytes);
    const ssize_t got = io::try_read(*file_, into.first(std::min(bytes_max, into.size())));
    if (got >= 0)
        return static_cast<std::size_t>(got);
    file_error_ = static_cast<int>(-got);
    room_.notify();
    return 0;
}

task<void> request_stream::flush() {
    begin_content();
    place_.on.flush();
    co_await wait_sent(0);
    co_await place_.on.flush_wire();
}

void request_stream::add_trailer(std::string_view name, std::string_view value) {
    trailers_.add(name, value);
}

void request_stream::end_content() {
    const auto length = begun_answer_->length();
    if (length && written_ != *length)
        throw std::length_error("a response shorter than announced");
    if (length)
        trailers_ = {};
    begin_content();
    last_ = true;
    place_.by.resume(id_);
    place_.on.flush();
}

/// Waits until no more than so much is left.
task<void> request_stream::wait_sent(std::size_t left_max, io::deadline until) {
    while (unsent() > left_max) {
        check_open();
        signal::awaiter taken = room_.wait("a window to send in", until);
        const bool some = co_await taken;
        if (!some)
            throw timed_out();
    }
    check_open();
}

// --- What happens to it ---

void request_stream::check_open() const {
    if (closed_ && !end_sent_)
        throw_gone();
}

void request_stream::give_up(error_code why) noexcept {
    if (closed_ || end_sent_)
        return;
    last_ = false;
    kept_.clear();
    kept_from_ = 0;
    try {
        place_.by.reset(id_, why);
        place_.on.flush();
    } catch (const std::bad_alloc&) { // the connection will say so by itself
    }
}

void request_stream::end_waits() noexcept {
    if (!end_sent_)
        content_.lose();
    gone_.set();
    room_.notify();
    if (stopper_ != nullptr && !end_sent_)
        stopper_->request_stop();
}

task<void> request_stream::client_gone() { co_await gone_.wait(); }

void request_stream::sent(std::size_t bytes, bool last) noexcept {
    sent_ += bytes;
    end_sent_ = end_sent_ || last;
}

engine_stream::content request_stream::ready(std::size_t bytes_max) noexcept {
    const std::size_t kept = kept_.size() - kept_from_;
    engine_stream::content there;
    if (kept > 0)
        there.bytes = kept;
    else
        there.bytes = file_ != nullptr ? read_file(bytes_max) : external_.size();
    there.last = last_ && (kept == 0 || external_.empty());
    if (there.last && !trailers_.empty())
        there.trailers = &trailers_;
    return there;
}

std::string_view request_stream::take(std::size_t bytes) noexcept {
    std::string_view taken;
    if (kept_from_ < kept_.size()) {
        taken = std::string_view(kept_).substr(kept_from_, bytes);
        kept_from_ += taken.size();
    } else if (file_ != nullptr) {
        taken = std::string_view(file_bytes.data(), bytes);
        file_->offset += bytes;
        file_->size -= bytes;
    } else {
        taken = external_.substr(0, bytes);
        external_.remove_prefix(taken.size());
    }
    if (unsent() <= kept_bytes_low)
        room_.notify();
    return taken;
}

bool request_stream::stalls(responder::time_point now) noexcept {
    if (closed_ || !submitted_ || unsent() == 0 || !place_.by.is_held_back(id_)) {
        patience_.reset();
        return false;
    }
    if (!patience_) {
        patience_.emplace(place_.limits.send_timeout, now, sent_);
        return false;
    }
    return patience_->look(place_.limits.send_timeout, place_.limits.send_rate_min_bytes_per_s, now,
                           sent_) <= io::send_patience::duration::zero();
}

} // namespace rota::http::h2
