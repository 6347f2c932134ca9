#include "tls_clients.hpp"

#include <algorithm>
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
                 std::chrono::milliseconds linger, worker_counters* counters,
                 std::stop_token draining) {
    using kind = io::tls::failure::kind;
    bool plain = false;
    auto how = handshake_end::gone;
    try {
        co_await tls->handshake(until);
        how = tls->resumed() ? handshake_end::resumed : handshake_end::full;
    } catch (const io::tls::failure& why) {
        plain = why.what_kind() == kind::plain_text;
        if (why.what_kind() != kind::truncated && why.what_kind() != kind::crowded)
            how = handshake_end::failed;
    } catch (const timed_out&) {
        // Nobody waits for it any longer.
    } catch (const std::system_error&) {
        // It has gone.
    }
    counters->handshakes[std::to_underlying(how)].add(1);
    if (plain)
        co_await refuse_in_clear(client, for_https, std::min(until, clock::now() + linger),
                                 std::move(draining));
    co_return how == handshake_end::full || how == handshake_end::resumed;
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
                              worker_counters* counters, std::stop_token draining) {
    // Before its first byte a client costs no more than one in clear.
    const clock::time_point until = clock::now() + handshake_timeout_;
    const bool begins = co_await wait_idle(client, until, draining, drain_grace_);
    if (!begins)
        co_return;
    io::tls::stream tls(*client, *context_);
    const bool agreed = co_await agree(client, &tls, until, linger_timeout_, counters, draining);
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
