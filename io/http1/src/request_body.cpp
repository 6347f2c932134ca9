#include "request_body.hpp"

#include <algorithm>
#include <stdexcept>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>

namespace rota::http {

void request_body::reset() noexcept {
    piece_bytes_ = 0;
    received_ = 0;
    most_ = no_limit;
    pace_ = {};
    asked_ = false;
    too_late_ = false;
    failed_ = false;
}

std::optional<std::uint64_t> request_body::length() const noexcept {
    if (parser_.head().chunked)
        return std::nullopt;
    return parser_.head().content_length;
}

void request_body::limit(std::uint64_t bytes) {
    most_ = std::min(most_, bytes < no_limit - received_ ? received_ + bytes : no_limit);
    if (parser_.limit_body(most_))
        return;
    failed_ = true;
    throw http_error(413, "content too large");
}

void request_body::drop_arrived() {
    parse_event event = parse_event::body;
    while (event == parse_event::body)
        event = advance();
    if (event == parse_event::error)
        failed_ = true;
}

bool request_body::continue_owed() const noexcept {
    return parser_.head().expects_continue && !asked_ && received_ == 0;
}

void request_body::release() noexcept {
    if (piece_bytes_ == 0)
        return;
    wire_.consume(piece_bytes_);
    piece_bytes_ = 0;
}

/// Takes the next piece out of what has arrived. `need_more` if nothing is left of that.
parse_event request_body::advance() {
    release();
    for (;;) {
        const std::string_view bytes = wire_.buffered();
        if (bytes.empty() && !parser_.complete())
            return parse_event::need_more;
        const auto [event, consumed] = parser_.feed(bytes);
        if (event == parse_event::body) {
            piece_bytes_ = consumed;
            received_ += parser_.body_piece().size();
            pace_.came(parser_.body_piece().size());
            return event;
        }
        wire_.consume(consumed);
        if (event != parse_event::need_more)
            return event;
    }
}

void request_body::invite() {
    if (continue_owed() && !too_late_)
        wire_.pending().append("HTTP/1.1 100 Continue\r\n\r\n");
    asked_ = asked_ || !too_late_;
}

task<std::string_view> request_body::read() {
    if (failed_)
        throw http_error(400, "the content could not be read");
    for (;;) {
        const parse_event event = advance();
        if (event == parse_event::body)
            co_return parser_.body_piece();
        if (event == parse_event::complete)
            co_return std::string_view{};
        if (event == parse_event::error) {
            failed_ = true;
            throw http_error(parser_.error().status, parser_.error().reason);
        }
        invite();
        co_await wait();
    }
}

task<bool> request_body::drain(std::uint64_t bytes_max) {
    bytes_max = bytes_max < no_limit - received_ ? received_ + bytes_max : no_limit;
    for (;;) {
        const parse_event event = advance();
        if (event == parse_event::complete)
            co_return true;
        if (event == parse_event::error || received_ > bytes_max)
            co_return false;
        if (event == parse_event::need_more) {
            invite();
            co_await wait();
        }
    }
}

/// Waits for more input. Throws http_error if the client is too slow or has ended too early. A wait
/// for the client that is given up has taken nothing, and can be repeated; its time counts.
task<void> request_body::wait() {
    if (!wire_.try_send()) {
        failed_ = true; // unless it ends well
        try {
            co_await wire_.send();
        } catch (const operation_cancelled&) { // nothing of it is lost, or sent again
            failed_ = false;
            throw;
        }
        failed_ = false;
    }
    const auto start = home_.now();
    const auto left =
        pace_.left(limits_.body_grace, limits_.body_rate_min_bytes_per_s, limits_.body_timeout);
    bool more = false;
    bool late = false;
    try {
        more = co_await wire_.stream().fill(start + left);
    } catch (const timed_out&) {
        late = true;
    } catch (const operation_cancelled&) {
        pace_.waited(home_.now() - start);
        throw;
    } catch (const std::logic_error&) { // another coroutine reads, which goes on
        throw;
    } catch (...) {
        failed_ = true;
        throw;
    }
    failed_ = late || !more;
    if (late)
        throw http_error(408, "the content comes too slowly");
    if (!more)
        throw http_error(400, "the content ends too early");
    pace_.waited(home_.now() - start);
}

} // namespace rota::http
