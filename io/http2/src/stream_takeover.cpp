#include "stream_takeover.hpp"

#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/request.hpp>

#include "request_stream.hpp"

namespace rota::http::h2 {
stream_takeover::stream_takeover(request_stream& of, const request* asked,
                                 const server_limits& limits, std::stop_token draining) noexcept
    : takeover(asked, limits, std::move(draining)), of_(of) {}

// --- Reading ---

std::string_view stream_takeover::buffered() const noexcept { return of_.content_.shown(); }

void stream_takeover::consume(std::size_t bytes) noexcept {
    forget_shown(bytes);
    of_.content_.consume(bytes);
}

task<bool> stream_takeover::grow(stream_takeover* self, std::size_t above, io::deadline until) {
    stream_content& content = self->of_.content_;
    for (;;) {
        if (content.has_arrived())
            content.show_more();
        if (content.shown().size() > above)
            co_return true;
        if (content.ended())
            co_return false;
        if (content.lost())
            throw std::system_error(std::make_error_code(std::errc::connection_reset));
        co_await content.wait_more(until);
    }
}

task<bool> stream_takeover::fill(io::deadline until) {
    drop_shown();
    // What is there is enough: nothing more is taken out of the window for it.
    return grow(this, 0, until);
}

task<bool> stream_takeover::fill_more(io::deadline until) {
    drop_shown();
    return grow(this, buffered().size(), until);
}

bool stream_takeover::peer_closed() const noexcept {
    return of_.closed_ || (of_.content_.ended() && !of_.content_.has_arrived());
}

bool stream_takeover::failed() const noexcept { return of_.broken(); }

// --- Writing ---

void stream_takeover::check_writable() const {
    if (of_.closed_)
        throw std::system_error(std::make_error_code(std::errc::connection_reset));
    if (of_.last_)
        throw std::system_error(std::make_error_code(std::errc::broken_pipe));
}

/// Of what does not fit nothing is queued before there is room, whatever the deadline.
task<void> stream_takeover::put(stream_takeover* self, std::string bytes, io::deadline until) {
    request_stream& of = self->of_;
    const std::stop_token stop = co_await current_stop_token;
    if (stop.stop_requested())
        throw operation_cancelled();
    self->check_writable();
    if (of.unsent() > kept_bytes_max)
        co_await of.wait_sent(kept_bytes_low, until);
    self->check_writable();
    if (of.kept_from_ == of.kept_.size()) {
        of.kept_ = std::move(bytes);
        of.kept_from_ = 0;
    } else {
        of.kept_.erase(0, std::exchange(of.kept_from_, 0));
        of.kept_.append(bytes);
    }
    of.place_.by.resume(of.id_);
    of.place_.on.flush();
    if (!until && of.unsent() > kept_bytes_max)
        co_await of.wait_sent(kept_bytes_low);
}

void stream_takeover::queue(std::string_view bytes) {
    of_.kept_.erase(0, std::exchange(of_.kept_from_, 0));
    of_.kept_.append(bytes);
    of_.place_.by.resume(of_.id_);
    of_.place_.on.flush();
}

task<void> stream_takeover::write(std::string_view bytes, io::deadline until) {
    return put(this, std::string(bytes), until);
}

task<void> stream_takeover::write_owned(std::string bytes, io::deadline until) {
    return put(this, std::move(bytes), until);
}

bool stream_takeover::has_room(std::size_t bytes) const noexcept {
    return !of_.closed_ && !of_.last_ && of_.unsent() + bytes <= kept_bytes_max;
}

bool stream_takeover::try_write(std::string_view bytes) {
    if (!has_room(bytes.size()))
        return false;
    queue(bytes);
    return true;
}

bool stream_takeover::try_write_last(std::string_view bytes) {
    if (of_.closed_ || of_.last_)
        return false;
    queue(bytes);
    return true;
}

task<void> stream_takeover::flush(io::deadline until) {
    co_await of_.wait_sent(0, until);
    co_await of_.place_.on.flush_wire(until);
}

io::send_progress stream_takeover::progress() const noexcept {
    return {.taken = of_.sent_, .left = of_.unsent()};
}

void stream_takeover::shutdown_write() noexcept {
    if (of_.last_ || of_.closed_)
        return;
    of_.last_ = true;
    of_.place_.by.resume(of_.id_);
    try {
        of_.place_.on.flush();
    } catch (const std::bad_alloc&) { // the next flush says so
    }
}

void stream_takeover::abort() noexcept { of_.give_up(error_code::cancel); }

// --- Handing over ---

/// True if the stream is not given away, but the request answered as any other.
task<bool> request_stream::refuses_takeover(const response* answer) {
    if (std::optional<response> refusal = responder_.refusal_of(*answer)) {
        refuse(std::move(*refusal));
        co_return true;
    }
    const bool tunnel = answer->is_tunnel();
    const std::string protocol(answer->headers().find("Upgrade").value_or(""));
    // A 426 would have to say so by Upgrade, which HTTP/2 does not have (RFC 9110 section 15.5.22).
    if (!tunnel && !fields_.extended_connect()) {
        const std::string why = "this is for " + protocol + ": ask by an extended CONNECT";
        refuse(responder_.error_answer(http_error(400, why)));
        co_return true;
    }
    if (!tunnel && !responder_.asked().offers_upgrade(protocol)) {
        const std::string why = "no other protocol than " + protocol + " is spoken here";
        refuse(responder_.error_answer(http_error(501, why)));
        co_return true;
    }
    if (place_.control.draining.stop_requested()) {
        refuse(responder_.error_answer(http_error(503, "the server is about to end")));
        co_return true;
    }
    co_return false;
}

void request_stream::refuse(response answer) {
    submit_whole(answer);
    place_.on.flush();
    responder_.account(answer);
}

/// From here on the stream is no more HTTP: see serve_taker().
task<exchange_end> request_stream::hand_over(response* answer) {
    check_open();
    const bool refused = co_await refuses_takeover(answer);
    if (refused)
        co_return exchange_end::answered;
    submit(*answer, true);
    if (!answer->is_tunnel())
        answer->status(200); // as it was sent
    responder_.account(*answer);
    place_.on.flush();
    request_forgotten_ = answer->forgets_request();
    taken_over_.emplace(std::move(answer->taker()));
    co_return exchange_end::handed_over;
}

/// Lets the taker have the stream, which ends with it. Apart, since most of what answering a
/// request takes is gone by then, and a taker may stay for hours.
task<exchange_end> request_stream::serve_taker() {
    std::exception_ptr error;
    bool cut = false;
    try {
        const worker_counters::held counted(place_.counters.connections_taken_over);
        const request* const asked = request_forgotten_ ? nullptr : &responder_.asked();
        stream_takeover client(*this, asked, place_.limits, place_.control.draining);
        try {
            co_await rota::detail::returned((*taken_over_)(client));
        } catch (...) {
            if (!client.is_all_told())
                throw;
            error = std::current_exception();
        }
        client.shutdown_write();
    } catch (...) {
        error = std::current_exception();
        cut = true;
    }
    taken_over_.reset(); // what it has captured ends with it
    if (error)
        (void)responder_.failure_of(error); // reported; or it is the end of the client, or of all
    co_return cut ? exchange_end::cut : exchange_end::handed_over;
}

} // namespace rota::http::h2
