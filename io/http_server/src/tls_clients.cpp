#include "tls_clients.hpp"

#include <string_view>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/io/tls/context.hpp>
#include <rota/io/tls/stream.hpp>

#include "idle_wait.hpp"
#include "refuse_in_clear.hpp"

namespace rota::http {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::string_view for_https =
    "This port speaks HTTPS, and this was plain HTTP: ask for https://.\n";

/// True if it has agreed; else it has been told why not, and has to go.
task<bool> agree(io::connection* client, io::tls::stream* tls, clock::time_point until,
                 std::chrono::milliseconds linger, std::stop_token draining) {
    bool plain = false;
    try {
        co_await tls->handshake(until);
        co_return true;
    } catch (const io::tls::failure& why) {
        plain = why.what_kind() == io::tls::failure::kind::plain_text;
    } catch (const timed_out&) {
        // Nobody waits for it any longer.
    } catch (const std::system_error&) {
        // It has gone.
    }
    if (plain)
        co_await refuse_in_clear(client, for_https, linger, std::move(draining));
    co_return false;
}

} // namespace

tls_clients::tls_clients(io::tls::server_options options,
                         std::chrono::milliseconds handshake_timeout, const server_limits& limits)
    : context_(std::make_unique<io::tls::context>(std::move(options))),
      handshake_timeout_(handshake_timeout), drain_grace_(limits.drain_grace),
      linger_timeout_(limits.linger_timeout) {}

tls_clients::~tls_clients() = default;

void tls_clients::reload() { context_->reload(); }
bool tls_clients::reload_changed() { return context_->reload_changed(); }

task<void> tls_clients::serve(io::connection* client, const protocols* by, session_rest* rest,
                              std::stop_token draining) {
    // Before its first byte a client costs no more than one in clear.
    const clock::time_point until = clock::now() + handshake_timeout_;
    const bool begins = co_await wait_idle(client, until, draining, drain_grace_);
    if (!begins)
        co_return;
    io::tls::stream tls(*client, *context_);
    const bool agreed = co_await agree(client, &tls, until, linger_timeout_, draining);
    if (!agreed)
        co_return;
    const secured now{
        .client = &tls,
        .tls = &tls,
        .protocol = tls.protocol(),
        .misdirected = [&tls](std::string_view host) { return tls.is_misdirected(host); },
        .rest = rest};
    bool more = true;
    while (more) {
        co_await (*by)(&now);
        more = rest->wanted;
        if (more)
            more = co_await wait_idle(&tls, rest->until, draining, drain_grace_);
    }
}

} // namespace rota::http
