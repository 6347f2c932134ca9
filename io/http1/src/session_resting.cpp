// What a session knows of a client that rests, and how it goes on with another: see session.hpp.

#include <exception>
#include <utility>

#include <rota/http/detail/rest_memo.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/network.hpp>

#include "session.hpp"

namespace rota::http {

/// Whether an idle client shall rest before its time is up.
bool session::may_rest() const noexcept {
    return control_.rest != nullptr && limits_.rest_after.count() > 0 &&
           limits_.rest_after < limits_.idle_timeout;
}

/// The time of a client that owes nothing is up: it goes, or rests, unless it still takes its last
/// answers, which is no idling.
session::progress session::end_idling() {
    if (requests_ > 0 && wire_.still_takes()) {
        since_ = home_.turn_time();
        return progress::go_on;
    }
    if (!wire_.buffered().empty())
        return progress::go_on;
    if (requests_ == 0 || !may_rest())
        return progress::gone;
    *control_.rest = rest_from_here();
    return progress::gone;
}

session_rest session::rest_from_here() const noexcept {
    return {.wanted = true,
            .until = since_ + limits_.idle_timeout,
            .requests = requests_,
            .bytes_sent = sent_earlier_ + wire_.sent(),
            .empty_lines = parser_.empty_lines()};
}

void session::go_on_from(const session_rest& rest) noexcept {
    requests_ = rest.requests;
    sent_earlier_ = rest.bytes_sent;
    since_ = rest.until - limits_.idle_timeout;
    parser_.resume_after(rest.empty_lines);
}

/// It has come to rest after a request, too, so nothing of one is left.
void session::go_on_with(const io::resting_client& other) noexcept {
    go_on_from(rest_of(other.memo));
    wire_.begin();
    peer_.reset();
    last_served_.reset();
    client_is_done_ = false;
}

std::string_view session::peer() const noexcept {
    if (control_.client == nullptr)
        return control_.peer;
    if (!peer_) {
        try {
            peer_.emplace(control_.client->peer().to_string());
        } catch (const std::exception&) { // it has gone already, or there is no memory
            return {};
        }
    }
    return *peer_;
}

/// Returns whether it comes from a gateway, which may have ended TLS for its client.
bool session::is_of_gateway() const {
    return control_.gateways != nullptr && control_.client != nullptr &&
           control_.gateways->contains(control_.client->peer());
}

} // namespace rota::http
