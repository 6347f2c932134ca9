// How a session reads and ends; session_writing.cpp has how it writes.
#include "conversation.hpp"

#include <algorithm>
#include <coroutine>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/when_any.hpp>
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

task<void> give_way() { co_await yield(); }

} // namespace

conversation::conversation(io::stream& over, const websocket_terms& terms,
                           const websocket_options& options, const std::stop_token& stop,
                           const std::stop_token& draining, worker& home, memory_budget* memory)
    : stream_(over), home_(home), options_(options), terms_(terms), stop_(stop),
      draining_(draining), memory_(memory), either_(stop, draining), heard_(home.turn_time()) {}

void conversation::heard() noexcept {
    heard_ = home_.turn_time();
    ping_out_ = false;
    ping_owed_ = false;
    rested_ = false;
}

websocket_message conversation::show(bool last) noexcept {
    shown_ = true;
    return {reader_->content(), reader_->is_text(), last};
}

message_reader& conversation::reader() {
    if (!reader_) {
        std::optional<inflate_terms> compression;
        if (terms_.deflate)
            compression = {terms_.client_window_bits, terms_.client_keeps_context};
        reader_ =
            std::make_unique<message_reader>(options_.message_bytes_max, compression, memory_);
    }
    return *reader_;
}

message_reader::found conversation::take() {
    message_reader& to = reader();
    message_reader::step step;
    try {
        step = to.take(stream_.buffered());
    } catch (...) { // there is no telling how far it came
        abort();
        throw;
    }
    if (to.between_messages())
        pace_ = {};
    else
        pace_.came(step.taken);
    asked_ = ping_out_;
    if (step.taken != 0) {
        stream_.consume(step.taken);
        heard();
    }
    return step.what;
}

/// A wait for more, until something is due: `co_await` of it says how it has ended. Not a
/// coroutine, since it is what an idle client is made of.
class conversation::arrival {
public:
    arrival(conversation& of, time_point limit)
        : of_(of), filling_(of.stream_.fill(limit == time_point::max() ? io::deadline() : limit)) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Parent>
    bool await_suspend(std::coroutine_handle<Parent> parent) {
        stop_ = &parent.promise().stop_token();
        return filling_.under(link(*stop_)).await_suspend(parent);
    }
    woke await_resume() {
        try {
            return filling_.under(*stop_).await_resume() ? woke::data : woke::ended;
        } catch (const timed_out&) {
            return woke::time;
        } catch (const std::system_error&) {
            return woke::gone;
        } catch (const operation_cancelled&) {
            if (stop_->stop_requested())
                throw;
            return woke::drain;
        }
    }

private:
    /// `stop` is of the routine that reads: linked to the drain already, unless that routine can be
    /// stopped by itself.
    const std::stop_token& link(const std::stop_token& stop) {
        if (of_.close_sent_)
            return stop; // a drain changes nothing any more
        if (stop == of_.stop_)
            return of_.either_.token();
        either_ = std::make_unique<const linked_stop<2>>(stop, of_.either_.token());
        return either_->token();
    }

    conversation& of_;
    const std::stop_token* stop_ = nullptr;
    std::unique_ptr<const linked_stop<2>> either_;
    task<bool> filling_;
};

/// For as long as it lives the rest of a message is waited for; else it does nothing.
class conversation::message_wait {
public:
    explicit message_wait(conversation* of) noexcept : of_(of) {
        if (of_ != nullptr)
            since_ = of_->home_.now();
    }
    ~message_wait() {
        if (of_ != nullptr)
            of_->pace_.waited(of_->home_.now() - since_);
    }
    message_wait(const message_wait&) = delete;
    message_wait& operator=(const message_wait&) = delete;

    /// Until when.
    [[nodiscard]] time_point end() const noexcept {
        if (of_ == nullptr)
            return time_point::max();
        const websocket_options& most = of_->options_;
        return since_ + of_->pace_.left(most.message_grace, most.message_rate_min_bytes_per_s);
    }

private:
    conversation* const of_;
    time_point since_;
};

/// Whether something of a message has come, and the rest may not come too slowly.
bool conversation::is_pressed() const noexcept {
    return reader_ && !reader_->between_messages() && !close_sent_ &&
           options_.message_rate_min_bytes_per_s != 0;
}

/// An idle client is what waits here, so little is kept meanwhile: whatever else is to be done is
/// `then`.
task<std::optional<websocket_message>> conversation::read(bool whole, io::deadline until) {
    if (reading_)
        throw std::logic_error("websocket: one at a time reads");
    const flag_guard reads(reading_);
    if (std::exchange(shown_, false))
        reader_->forget_content();
    bool looks = false; // at what is due, before it goes on: bytes have come that show nothing
    while (!over_) {
        if (!whole && has_piece())
            co_return show(false);
        task<void> then = due_already(until);
        if (then.valid()) {
            // at once
        } else if (!looks && !stream_.buffered().empty()) {
            const message_reader::found what = take();
            if (what == message_reader::found::message && !close_sent_)
                co_return show(true);
            then = behind_bytes(what, until);
            looks = true;
        } else if (draining_.stop_requested() && !close_sent_) {
            then = say_close(close_code::going_away, "the server is about to end", until);
        } else if (std::exchange(looks, false)) {
            look(until);
        } else {
            const message_wait rest(whole && is_pressed() ? this : nullptr);
            const time_point due = next_time();
            const time_point late = rest.end();
            const time_point first = std::min(due, late);
            const time_point limit = until ? std::min(*until, first) : first;
            woke by = woke::data;
            if (owes()) {
                by = co_await arrive_or_pay(limit);
            } else {
                arrival more(*this, limit);
                by = co_await more;
            }
            if (by == woke::time && until && *until <= first)
                throw timed_out();
            if (by == woke::time && late <= due)
                then = fail({close_code::violation, "the message comes too slowly"}, until);
            else
                behind_wait(by, due);
        }
        if (then.valid())
            co_await std::move(then);
    }
    if (reader_)
        reader_->release();
    co_return std::nullopt;
}

task<conversation::woke> conversation::arrive(time_point limit) {
    arrival more(*this, limit);
    co_return co_await more;
}

/// As an arrival, with what is owed beside it: what comes first. Neither loses what the other ends.
task<conversation::woke> conversation::arrive_or_pay(time_point limit) {
    task<woke> more = arrive(limit);
    task<void> paying = pay({});
    const std::variant<woke, std::monostate> first =
        co_await when_any(std::move(more), std::move(paying));
    co_return first.index() == 0 ? std::get<0>(first) : woke::data;
}

/// A goodbye that was given up; empty: there is none.
task<void> conversation::due_already(io::deadline until) {
    if (close_came_)
        return answer_close(until);
    return failed_.code != 0 ? fail(failed_, until) : task<void>();
}

/// Whether there is something of a message that the user has not seen.
bool conversation::has_piece() const noexcept {
    return !close_sent_ && reader_ && !reader_->content().empty();
}

/// What a wait would end by, of a peer whose bytes let none begin. Reads no clock: the time is that
/// of the worker's turn.
void conversation::look(io::deadline until) {
    const time_point now = home_.turn_time();
    if (close_sent_ && now >= answer_by_)
        end(close_code::abnormal, "");
    else if (until && now >= *until)
        throw timed_out();
}

/// What is to be done where the user does not; empty: nothing.
task<void> conversation::behind_bytes(message_reader::found what, io::deadline until) {
    if (what == message_reader::found::control)
        return answer_control(until);
    if (what == message_reader::found::failed)
        return fail(reader_->fault(), until);
    if (close_sent_) // what comes behind our goodbye is dropped
        reader_->forget_content();
    return what == message_reader::found::busy || close_sent_ ? give_way() : task<void>();
}

/// The same behind a wait that has ended so.
void conversation::behind_wait(woke by, time_point due) {
    if (by == woke::time)
        time_is_up(due);
    else if (by == woke::ended || by == woke::gone)
        gone();
}

/// When something is due if nothing comes.
conversation::time_point conversation::next_time() const noexcept {
    time_point next = time_point::max();
    if (close_sent_ || ping_out_)
        next = answer_by_;
    else if (!ping_owed_ && options_.ping_after.count() != 0)
        next = heard_ + options_.ping_after;
    return rested_ ? next : std::min(next, heard_ + options_.rest_after);
}

/// Nothing came until `due`, which next_time() has said.
void conversation::time_is_up(time_point due) {
    if (!rested_ && due >= heard_ + options_.rest_after) {
        rest();
    } else if (close_sent_) {
        if (due >= answer_by_) // it may have been sent meanwhile
            end(close_code::abnormal, "");
    } else if (ping_out_) {
        if (due >= answer_by_) // the same
            abort();
    } else {
        ping_owed_ = true; // and gone_after begins once it is written
        if (writers_ == 0)
            static_cast<void>(settle());
    }
}

void conversation::rest() {
    rested_ = true;
    if (reader_ && reader_->rest())
        reader_.reset();
    if (writers_ == 0) {
        deflater_.reset();
        writing_.reset();
    }
    stream_.rest();
}

task<void> conversation::answer_control(io::deadline until) {
    if (reader_->control_op() == opcode::close)
        return answer_close(until);
    if (reader_->control_op() == opcode::ping && !close_sent_) {
        const bool again = pong_ != nullptr;
        pong_.reset(); // RFC 6455 section 5.5.3: the newest is enough
        if (!try_frame(opcode::pong, reader_->control())) {
            pong_ = std::make_unique<std::string>(reader_->control());
            if (again && writers_ == 0) // it asks, and takes no answer: so it is not read
                return pay(until);
        }
    }
    if (reader_->control_op() == opcode::pong && asked_)
        rest();        // it has shown that the client is there, and has no more to say
    return give_way(); // nothing else would, behind any number of them
}

/// RFC 6455 section 5.5.1: it is answered with its own code, and the end.
task<void> conversation::answer_close(io::deadline until) {
    const std::string_view payload = reader_->control();
    const std::uint16_t code = ws::close_code_of(payload);
    close_came_ = true;
    if (!close_sent_) {
        close_code_ = code != 0 ? code : close_code::none;
        close_reason_ = payload.substr(std::min<std::size_t>(payload.size(), 2));
        co_await say_close(code, std::string(), until);
    }
    told_ = !over_;
    be_over();
}

/// RFC 6455 section 7.1.7: nothing of what follows is read.
task<void> conversation::fail(ws::close_reason why, io::deadline until) {
    failed_ = why;
    co_await say_close(why.code, why.why, until);
    be_over();
}

void conversation::be_over() noexcept {
    over_ = true;
    end_message();
}

/// The conversation has ended so, if no one has said how before.
void conversation::end(std::uint16_t code, std::string_view reason) {
    be_over();
    if (close_code_ == 0) {
        close_code_ = code;
        close_reason_ = reason;
    }
}

/// The peer has, and nothing can be told to it.
void conversation::gone() noexcept {
    be_over();
    if (close_code_ == 0)
        close_code_ = close_code::abnormal;
}

void conversation::abort() noexcept {
    gone();
    stream_.abort();
}

task<void> conversation::finish(std::uint16_t code) {
    if (!over_)
        co_await say_close(code, std::string());
    while (!over_)
        static_cast<void>(co_await read(true, {}));
}

std::size_t conversation::memory() const noexcept {
    return sizeof(*this) + (reader_ ? sizeof(*reader_) + reader_->memory() : 0) +
           (deflater_ ? deflater_->memory() : 0);
}

} // namespace rota::http::ws
