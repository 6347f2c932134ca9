#include "connection.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/yield.hpp>

namespace rota::http::h2 {
namespace {

request_stream& stream_of(engine_stream* of) noexcept { return *static_cast<request_stream*>(of); }

} // namespace

connection::connection(io::stream& client, const router& routes, const server_limits& limits,
                       const session_control& control, worker& home, const std::stop_token& stop,
                       worker_counters& counters, bool counted)
    : limits_(limits), control_(control), home_(home), stop_(stop), counters_(counters),
      wire_(client, limits, counters), engine_(*this, limits),
      watch_(limits.http2, limits.parser.head_bytes_max * 4, engine_), place_{engine_,  *this,
                                                                              routes,   limits,
                                                                              control,  home,
                                                                              counters, stop},
      step_(std::max<std::chrono::steady_clock::duration>(
          std::min(limits.send_timeout / 8, limits.linger_timeout), std::chrono::milliseconds(1))),
      since_(home.turn_time()) {
    if (!counted)
        counters_.connections.add(1);
    counters_.connections_open.add(1);
    counters_.connections_http2.add(1);
}

connection::~connection() {
    counters_.connections_http2.subtract(1);
    counters_.connections_open.subtract(1);
}

task<void> connection::serve(std::string_view begun) {
    task_group handlers(co_await current_context);
    task_group writers(co_await current_context);
    // cppcheck-suppress danglingLifetime ; used by what runs in it
    handlers_ = &handlers;
    // cppcheck-suppress danglingLifetime ; so is this
    writers_ = &writers;
    std::exception_ptr error;
    try {
        co_await read_all(begun);
    } catch (...) {
        error = std::current_exception();
    }
    // From here on nothing begins, and what is at work has nobody to answer to. What has been
    // answered is sent still, if that was under way.
    failed_ = true;
    for (const auto& one : open_) {
        if (!one->busy())
            continue;
        engine_.forget(one->id());
        one->close();
        one->end_waits();
        try {
            if (one->keeps_answer())
                one->end_kept();
        } catch (...) { // the handlers are to be awaited yet
            lost_ = true;
            if (!error)
                error = std::current_exception();
        }
    }
    handlers.request_stop();
    co_await handlers.ended();
    if (error || lost_)
        writers.request_stop();
    co_await writers.ended();
    for (const std::exception_ptr& other : {handlers.error(), writers.error()}) {
        if (!error)
            error = other;
    }
    if (error)
        std::rethrow_exception(error);
    if (!lost_ && !peer_ended_) {
        if (engine_.client_leaves() && !at_fault_)
            end_soon();
        co_await say_goodbye();
    }
}

// --- Reading ---

task<void> connection::read_all(std::string_view begun) {
    flush(); // the settings
    if (!begun.empty())
        take(begun);
    for (;;) {
        while (!failed_ && !wire_.buffered().empty()) {
            const std::string_view bytes = wire_.buffered();
            take(bytes);
            wire_.consume(bytes.size());
            if (!ready_.empty() && !failed_)
                co_await answer_ready();
        }
        flush();
        if (failed_ || lost_ || peer_ended_ || (engine_.over() && !writing_))
            co_return;
        co_await wait();
        if (control_.draining.stop_requested() && !draining_)
            begin_drain();
        if (!failed_)
            look();
    }
}

void connection::take(std::string_view bytes) {
    static constexpr std::string_view zeros("\0\0\0\0", 4);
    const auto now = home_.turn_time();
    std::optional<fault> found;
    while (!bytes.empty() && !found) {
        const frame_watch::result seen = watch_.look(bytes, now);
        reading_ = true;
        found = engine_.read(bytes.substr(0, seen.good));
        if (!found && seen.zeros > 0)
            found = engine_.read(zeros.substr(0, seen.zeros));
        if (!found && seen.updated)
            engine_.update_priority(static_cast<std::int32_t>(seen.updated->stream),
                                    seen.updated->value);
        reading_ = false;
        if (!found)
            found = seen.found;
        bytes.remove_prefix(seen.good + seen.zeros);
    }
    if (found)
        fail(found->code);
    if (watch_.header_sections() != sections_) {
        sections_ = watch_.header_sections();
        section_since_ = now;
    }
    settle();
}

task<void> connection::answer_ready() {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        if (begin(*ready_[i]) && home_.spend(answered_)) {
            flush();
            co_await yield();
        }
    }
    ready_.clear();
}

/// True if it is answered already, and may be gone.
bool connection::begin(request_stream& one) {
    if (one.closed()) { // given up before anybody looked
        one.let_go();
        release(one);
        return false;
    }
    ++requests_;
    const bool answered = answer_now(one);
    const std::uint64_t max = limits_.requests_per_connection_max;
    if (max != 0 && requests_ >= max)
        end_soon();
    return answered;
}

/// False if it has a handler that takes time.
bool connection::answer_now(request_stream& one) {
    const request_head& head = one.fields().head();
    if (const auto& wrong = one.fields().refused()) {
        one.answer_unread(http_error(wrong->status, wrong->reason));
    } else if (control_.refusing != nullptr && control_.refusing->load(std::memory_order_relaxed)) {
        one.answer_unread(http_error(503, "the server has no room for requests now"));
    } else if (control_.misdirected && control_.misdirected(head.text(head.host))) {
        one.answer_unread(http_error(421, "this connection was made for another host"));
    } else if (!one.answer_at_once()) {
        handlers_->spawn_made([&] { return run(&one); });
        if (handlers_->error()) // there is no memory for it
            fail(error_code::internal_error);
        return false;
    }
    if (one.keeps_answer()) {
        answered_ = home_.now();
        note(one); // it may have left meanwhile
        settle();
        return true;
    }
    answered_ = one.answered_at();
    finish(one);
    return true;
}

task<void> connection::run(request_stream* one) {
    std::exception_ptr error;
    try {
        co_await one->answer();
    } catch (...) {
        error = std::current_exception();
    }
    if (one->keeps_answer())
        note(*one); // it may have left meanwhile
    else
        finish(*one);
    if (error) // nothing can be promised to the other streams any more
        fail(error_code::internal_error);
    flush();
    if (error)
        std::rethrow_exception(error);
}

task<void> connection::wait() {
    if (!wake_ || wake_->token().stop_requested()) {
        const std::stop_token draining = draining_ ? std::stop_token() : control_.draining;
        wake_.emplace(stop_, draining);
    }
    try {
        task<bool> filling = wire_.stream().fill(next_look());
        const bool more = co_await filling.under(wake_->token());
        peer_ended_ = !more;
    } catch (const timed_out&) { // look() sees to it
    } catch (const operation_cancelled&) {
        if (stop_.stop_requested())
            throw;
    }
}

void connection::wake_reader() noexcept {
    if (wake_)
        wake_->request_stop();
}

// --- The engine's events ---

engine_stream* connection::on_begin(std::int32_t id) {
    auto one = std::make_unique<request_stream>(place_, id);
    one->place_in_open = open_.size();
    open_.push_back(std::move(one));
    return open_.back().get();
}

void connection::on_field(engine_stream* of, std::string_view name, std::string_view value,
                          bool trailer) {
    request_fields& fields = stream_of(of).fields();
    if (trailer)
        fields.add_trailer(name, value);
    else
        fields.add(name, value);
}

void connection::on_request(engine_stream* of, bool more) {
    request_stream& one = stream_of(of);
    ready_.reserve(ready_.size() + 1);
    one.fields().finish(more);
    if (!more)
        on_content_end(of);
    ready_.push_back(&one);
    one.begin_work();
}

void connection::on_content(engine_stream* of, std::string_view piece) {
    request_stream& one = stream_of(of);
    one.content().arrive(piece);
    if (one.drop_until)
        note(one);
}

void connection::on_content_end(engine_stream* of) { stream_of(of).content().end(); }

/// A tunnel has none (RFC 9113 section 8.5).
void connection::on_trailers(engine_stream* of) {
    request_stream& one = stream_of(of);
    if (one.fields().is_connect())
        engine_.reset(one.id(), error_code::protocol_error);
    else
        one.content().end();
}

void connection::on_sent(engine_stream* of, std::size_t bytes, bool last, bool cut) noexcept {
    request_stream& one = stream_of(of);
    one.sent(bytes, last);
    sent_ += bytes;
    watch_.sent(bytes, cut);
    if (last)
        note(one);
}

void connection::on_closed(engine_stream* of) {
    request_stream& one = stream_of(of);
    one.close();
    note(one);
}

bool connection::on_provoked_reset() noexcept {
    const auto found = watch_.reset(home_.turn_time());
    if (found)
        fault_ = found;
    return !found;
}

// --- Streams ---

void connection::note(request_stream& one) noexcept {
    if (std::exchange(one.noted, true))
        return;
    one.next_noted = std::exchange(noted_, &one);
}

/// Sees to streams that something has become of.
void connection::settle() {
    try {
        while (noted_ != nullptr) {
            request_stream& one = *std::exchange(noted_, noted_->next_noted);
            one.noted = false;
            settle(one);
        }
        if (const auto found = std::exchange(fault_, std::nullopt))
            fail(found->code);
    } catch (...) {
        give_up();
        throw;
    }
}

void connection::settle(request_stream& one) {
    if (one.keeps_answer() && (one.closed() || one.answered()))
        one.end_kept();
    if (one.closed()) {
        one.end_waits();
        if (!one.busy())
            release(one);
        return;
    }
    if (!one.answered() || one.content().ended() || one.busy())
        return;
    // RFC 9113 section 8.1: the client may stop sending what nobody reads. Not before there was
    // time to read the answer: some clients lose it then.
    if (one.content().too_much_to_drop())
        engine_.reset(one.id(), error_code::no_error);
    else if (!one.drop_until)
        one.drop_until =
            home_.turn_time() + (draining_ ? std::min(limits_.drain_grace, limits_.linger_timeout)
                                           : limits_.linger_timeout);
}

/// Nothing is at work for it any more.
void connection::finish(request_stream& one) {
    note(one);
    try {
        one.let_go();
    } catch (...) {
        give_up();
        throw;
    }
    settle();
}

void connection::release(request_stream& one) {
    one.content().drop_rest(); // of the connection's window
    const std::size_t at = one.place_in_open;
    const std::unique_ptr<request_stream> gone = std::move(open_[at]);
    if (at + 1 < open_.size()) {
        open_[at] = std::move(open_.back());
        open_[at]->place_in_open = at;
    }
    open_.pop_back();
    if (!open_.empty())
        return;
    since_ = home_.turn_time();
    if (ending_ || engine_.client_leaves())
        wake_reader();
}

} // namespace rota::http::h2
