// How a session reads and ends; session_writing.cpp has how it writes.
#include "session.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/yield.hpp>

namespace rota::http::ws {
namespace {

/// Set while it lives.
class flag_guard {
public:
    explicit flag_guard(bool& flag) noexcept : flag_(flag) { flag_ = true; }
    ~flag_guard() { flag_ = false; }
    flag_guard(const flag_guard&) = delete;
    flag_guard& operator=(const flag_guard&) = delete;

private:
    bool& flag_;
};

std::optional<inflate_terms> inflate_of(const websocket_terms& terms) {
    if (!terms.deflate)
        return std::nullopt;
    return inflate_terms{terms.client_window_bits, terms.client_keeps_context};
}

coding::encoder_options deflate_of(const websocket_terms& terms,
                                   const websocket_deflate& how) noexcept {
    coding::encoder_options made;
    made.to = coding::format::deflate;
    made.level = how.level;
    made.window_bits = terms.server_window_bits;
    return made;
}

} // namespace

session::session(io::stream& over, const websocket_terms& terms, const websocket_options& options,
                 const std::stop_token& stop, const std::stop_token& draining, worker& home)
    : stream_(over), home_(home), options_(options), terms_(terms), stop_(stop),
      draining_(draining), either_(stop, draining),
      reader_(options.message_bytes_max, inflate_of(terms)), heard_(home.turn_time()) {
    if (terms.deflate)
        deflater_.emplace(deflate_of(terms, options.deflate.value_or(websocket_deflate{})),
                          terms.server_keeps_context);
}

void session::heard() noexcept {
    heard_ = home_.turn_time();
    ping_out_ = false;
    rested_ = false;
}

websocket_message session::show(bool last) noexcept {
    shown_ = true;
    return {reader_.content(), reader_.is_text(), last};
}

message_reader::step session::take() {
    message_reader::step step;
    try {
        step = reader_.take(stream_.buffered());
    } catch (...) { // there is no telling how far it came
        abort();
        throw;
    }
    if (step.taken != 0) {
        stream_.consume(step.taken);
        heard();
    }
    return step;
}

task<std::optional<websocket_message>> session::read(bool whole, io::deadline until) {
    if (reading_)
        throw std::logic_error("websocket: one at a time reads");
    const flag_guard reads(reading_);
    if (std::exchange(shown_, false))
        reader_.forget_content();
    while (!over_) {
        if (stream_.buffered().empty()) {
            co_await more(until);
            continue;
        }
        const message_reader::step step = take();
        if (step.what == message_reader::found::control) {
            co_await answer_control();
        } else if (step.what == message_reader::found::failed) {
            co_await fail(reader_.fault());
        } else if (close_sent_) { // what comes behind our goodbye is dropped
            reader_.forget_content();
        } else if (step.what == message_reader::found::message) {
            co_return show(true);
        } else if (!whole && !reader_.content().empty()) {
            co_return show(false);
        } else if (step.what == message_reader::found::busy) {
            co_await yield();
        }
    }
    reader_.release();
    co_return std::nullopt;
}

/// Waits until more has come, and sees to what is due meanwhile.
task<void> session::more(io::deadline until) {
    if (draining_.stop_requested() && !close_sent_) {
        co_await say_close(close_code::going_away, "the server is about to end");
        co_return;
    }
    const time_point next = next_time();
    const bool is_users = until && *until <= next;
    const time_point limit = is_users ? *until : next;
    const woke by = co_await wait(limit);
    switch (by) {
    case woke::data:
    case woke::drain:
        break;
    case woke::time:
        if (is_users)
            throw timed_out();
        co_await time_is_up(next);
        break;
    case woke::ended:
    case woke::gone:
        gone();
        break;
    }
}

task<session::woke> session::wait(time_point limit) {
    const std::stop_token stop = co_await current_stop_token;
    const io::deadline until = limit == time_point::max() ? io::deadline() : io::deadline(limit);
    bool more = false;
    try {
        task<bool> filling = stream_.fill(until);
        if (close_sent_) {
            more = co_await std::move(filling);
        } else if (stop == stop_) {
            more = co_await filling.under(either_.token());
        } else {
            const linked_stop<2> either(stop, draining_);
            more = co_await filling.under(either.token());
        }
    } catch (const timed_out&) {
        co_return woke::time;
    } catch (const std::system_error&) {
        co_return woke::gone;
    } catch (const operation_cancelled&) {
        if (stop.stop_requested())
            throw;
        co_return woke::drain;
    }
    co_return more ? woke::data : woke::ended;
}

/// When something is due if nothing comes.
session::time_point session::next_time() const noexcept {
    time_point next = time_point::max();
    if (close_sent_)
        next = close_until_;
    else if (ping_out_)
        next = pinged_ + options_.gone_after;
    else if (options_.ping_after.count() != 0)
        next = heard_ + options_.ping_after;
    return rested_ ? next : std::min(next, heard_ + options_.rest_after);
}

/// Nothing came until `due`, which next_time() has said.
task<void> session::time_is_up(time_point due) {
    if (!rested_ && due >= heard_ + options_.rest_after) {
        rest();
    } else if (close_sent_) {
        end(close_code::abnormal, "");
    } else if (ping_out_) {
        abort();
    } else {
        co_await control(opcode::ping, std::string());
        ping_out_ = true;
        pinged_ = home_.now();
    }
}

void session::rest() {
    rested_ = true;
    reader_.rest();
    if (deflater_ && writers_ == 0)
        deflater_->forget();
}

task<void> session::answer_control() {
    switch (reader_.control_op()) {
    case opcode::ping:
        if (!close_sent_)
            co_await control(opcode::pong, std::string(reader_.control()));
        break;
    case opcode::close:
        co_await answer_close();
        break;
    default: // a pong has shown that the client is there
        break;
    }
}

/// RFC 6455 section 5.5.1: it is answered with its own code, and the end.
task<void> session::answer_close() {
    const std::string_view payload = reader_.control();
    std::uint16_t code = 0;
    if (payload.size() >= 2) {
        code = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8 |
                                          static_cast<unsigned char>(payload[1]));
    }
    const std::string_view reason = payload.substr(std::min<std::size_t>(payload.size(), 2));
    utf8_check text;
    if (payload.size() == 1 || (code != 0 && !may_be_sent(code)) ||
        (payload.size() >= 2 && code == 0)) {
        co_await fail({close_code::protocol_error, "a close frame with a code that is none"});
    } else if (!text.take(reason) || !text.complete()) {
        co_await fail({close_code::invalid_data, "a close frame with words that are not UTF-8"});
    } else {
        if (!close_sent_) {
            close_code_ = code != 0 ? code : close_code::none;
            close_reason_ = reason;
            co_await say_close(code, std::string());
        }
        over_ = true;
    }
}

/// RFC 6455 section 7.1.7: nothing of what follows is read.
task<void> session::fail(ws::close_reason why) {
    co_await say_close(why.code, why.why);
    over_ = true;
}

/// The conversation has ended so, if no one has said how before.
void session::end(std::uint16_t code, std::string_view reason) {
    over_ = true;
    if (close_code_ == 0) {
        close_code_ = code;
        close_reason_ = reason;
    }
}

/// The peer has, and nothing can be told to it.
void session::gone() noexcept {
    gone_ = true;
    over_ = true;
    if (close_code_ == 0)
        close_code_ = close_code::abnormal;
}

void session::abort() noexcept {
    gone();
    stream_.abort();
}

task<void> session::finish(std::uint16_t code) {
    if (cut_)
        abort();
    if (!over_)
        co_await say_close(code, std::string());
    while (!over_)
        static_cast<void>(co_await read(true, {}));
}

std::size_t session::memory() const noexcept {
    return sizeof(*this) + reader_.memory() + (deflater_ ? deflater_->memory() : 0);
}

} // namespace rota::http::ws
