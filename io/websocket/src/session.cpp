// How a session reads and ends; session_writing.cpp has how it writes.
#include "session.hpp"

#include <algorithm>
#include <coroutine>
#include <memory>
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

/// A wait for more, until something is due: `co_await` of it says how it has ended. Not a
/// coroutine, since it is what an idle client is made of.
class session::arrival {
public:
    /// `stop` is of the routine that reads.
    arrival(session& of, const std::stop_token& stop, time_point limit)
        : stop_(stop),
          either_(of.needs_link(stop) ? std::make_unique<const linked_stop<2>>(stop, of.draining_)
                                      : nullptr),
          filling_(of.stream_.fill(limit == time_point::max() ? io::deadline() : limit)),
          inner_(filling_.under(either_          ? either_->token()
                                : of.close_sent_ ? stop // a drain changes nothing any more
                                                 : of.either_.token())) {}

    [[nodiscard]] bool await_ready() const noexcept { return inner_.await_ready(); }
    template <class Parent>
    bool await_suspend(std::coroutine_handle<Parent> parent) {
        return inner_.await_suspend(parent);
    }
    woke await_resume() {
        try {
            return inner_.await_resume() ? woke::data : woke::ended;
        } catch (const timed_out&) {
            return woke::time;
        } catch (const std::system_error&) {
            return woke::gone;
        } catch (const operation_cancelled&) {
            if (stop_.stop_requested())
                throw;
            return woke::drain;
        }
    }

private:
    const std::stop_token& stop_;
    std::unique_ptr<const linked_stop<2>> either_;
    task<bool> filling_;
    task<bool>::awaiter inner_;
};

/// Whether its waits have to be linked to the drain first: other than as a rule it reads in a
/// routine that can be stopped by itself.
bool session::needs_link(const std::stop_token& stop) const noexcept {
    return !close_sent_ && stop != stop_;
}

task<std::optional<websocket_message>> session::read(bool whole, io::deadline until) {
    if (reading_)
        throw std::logic_error("websocket: one at a time reads");
    const flag_guard reads(reading_);
    const std::stop_token stop = co_await current_stop_token;
    if (std::exchange(shown_, false))
        reader_.forget_content();
    while (!over_) {
        if (stream_.buffered().empty()) {
            if (draining_.stop_requested() && !close_sent_) {
                co_await say_close(close_code::going_away, "the server is about to end");
                continue;
            }
            const time_point due = next_time();
            const bool is_users = until && *until <= due;
            woke by = woke::data;
            {
                arrival more(*this, stop, is_users ? *until : due);
                by = co_await more;
            }
            if (by == woke::time && is_users)
                throw timed_out();
            if (by == woke::time)
                co_await time_is_up(due);
            else if (by == woke::ended || by == woke::gone)
                gone();
            continue;
        }
        const message_reader::step step = take();
        if (step.what == message_reader::found::control) {
            co_await answer_control();
        } else if (step.what == message_reader::found::failed) {
            co_await fail(reader_.fault());
        } else {
            if (close_sent_) // what comes behind our goodbye is dropped
                reader_.forget_content();
            else if (step.what == message_reader::found::message)
                co_return show(true);
            else if (!whole && !reader_.content().empty())
                co_return show(false);
            if (step.what == message_reader::found::busy)
                co_await yield();
        }
    }
    reader_.release();
    co_return std::nullopt;
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
    return may_rest() ? std::min(next, heard_ + options_.rest_after) : next;
}

/// Whether there is anything that it can give up until more comes.
bool session::may_rest() const noexcept {
    return !rested_ && (reader_.may_rest() || (deflater_ && deflater_->memory() != 0));
}

/// Nothing came until `due`, which next_time() has said.
task<void> session::time_is_up(time_point due) {
    if (may_rest() && due >= heard_ + options_.rest_after) {
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
