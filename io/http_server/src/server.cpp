#include <rota/http/server.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/check.hpp>
#include <rota/http/detail/rest_memo.hpp>
#include <rota/http/detail/sensible_limits.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/end_signals.hpp>
#include <rota/io/resting.hpp>
#include <rota/time_span.hpp>

#include "http2_clients.hpp"
#include "proxied.hpp"
#include "tls_clients.hpp"

namespace rota::http {

namespace {

bool has_tls(const server_options& options) noexcept {
    const io::tls::server_options& tls = options.tls;
    return !options.listen_tls.empty() || !tls.certificates.empty() || !tls.client_ca.empty() ||
           !tls.ticket_keys.empty() || tls.least != io::tls::server_options().least;
}

/// Throws what tls_clients() throws.
std::unique_ptr<tls_clients> secured_by(server_options& options, const server_limits& limits) {
    options.tls.alpn = {"http/1.1"};
    if (options.http2)
        options.tls.alpn.insert(options.tls.alpn.begin(), "h2");
    return std::make_unique<tls_clients>(std::move(options.tls),
                                         at_most_ten_years(options.handshake_timeout), limits);
}

/// What sessions use, shared with the server object, which may go before they do.
struct session_shared {
    session_shared(router&& served, server_options& options)
        : routes(std::move(served)), limits(sensible(options.limits)),
          hooks(std::move(options.hooks)), proxies(std::move(options.proxy_protocol)),
          gateways(std::move(options.trusted_gateways)), http2(options.http2 && has_http2()),
          content_memory(options.content_memory_bytes_max), metrics(&routes) {
        if (!hooks.on_error) {
            hooks.on_error = [](std::string_view message) {
                std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
            };
        }
        options.http2 = http2;
        if (options.handshake_timeout.count() < 0)
            throw std::invalid_argument("server: handshake_timeout must not be negative");
        if (has_tls(options))
            secured = secured_by(options, limits);
    }

    session_shared(const session_shared&) = delete;
    session_shared& operator=(const session_shared&) = delete;
    ~session_shared() {
        ROTA_CHECK(metrics.read().connections_open == 0, "every client has been counted off");
        ROTA_CHECK(metrics.read().requests_in_flight == 0, "every handler has been counted off");
    }

    /// One that had rested, and has no session to count it.
    void count_gone(const worker& home) noexcept {
        metrics.of_worker(home.index()).connections_open.subtract(1);
    }

    const router routes;
    const server_limits limits;
    session_hooks hooks;
    const io::network_list proxies; // that speak the PROXY protocol
    const io::network_list gateways;
    const bool http2;
    memory_budget content_memory;
    server_metrics metrics;
    std::atomic<bool> refusing{false};
    // Of the io::server; set before it runs.
    std::stop_token draining;
    io::rest_place clients;
    // Null: there are none.
    std::unique_ptr<tls_clients> secured;
};

using session_share = std::shared_ptr<session_shared>;

session_control control_of(session_shared& self, session_rest* rest) {
    session_control control;
    control.draining = self.draining;
    control.metrics = &self.metrics;
    control.hooks = &self.hooks;
    control.content_memory = &self.content_memory;
    control.refusing = &self.refusing;
    control.gateways = &self.gateways;
    control.rest = rest;
    return control;
}

/// What serves a client when its session of HTTP/1.1 has ended, if it goes on.
struct behind_session {
    bool is_http2 = false;
    task<void> next; // of another protocol
};

/// A session that says so. Not a coroutine, in which `control` would stay as long as the client.
task<void> serve_session(session_shared& self, io::stream& client, session_control control,
                         behind_session& then) {
    if (self.http2 && control.tls == nullptr)
        control.is_http2 = &then.is_http2;
    control.next = &then.next;
    return serve_connection(&client, &self.routes, &self.limits, std::move(control));
}

/// The same of a client in clear that has begun with HTTP/2.
task<void> serve_preface_sender(session_shared& self, io::connection& client, std::string peer) {
    session_control control = control_of(self, nullptr);
    control.peer = std::move(peer);
    return serve_http2_client(&client, &self.routes, &self.limits, std::move(control), true);
}

task<void> serve_proxied(session_shared& self, io::connection& client, const std::string& peer,
                         behind_session& then) {
    session_control control = control_of(self, nullptr);
    control.peer = peer;
    return serve_session(self, client, std::move(control), then);
}
task<void> serve_resting(session_shared& self, io::connection& client, session_rest& rest,
                         behind_session& then) {
    session_control control = control_of(self, &rest);
    control.rests = &self.clients;
    control.client = &client;
    return serve_session(self, client, std::move(control), then);
}

/// One that nothing resumes when it rests: `peer` is not what its socket says.
task<void> serve_proxied_client(session_share self, io::connection client, std::string peer) {
    try {
        behind_session then;
        co_await serve_proxied(*self, client, peer, then);
        if (then.is_http2)
            then.next = serve_preface_sender(*self, client, std::move(peer));
        if (then.next.valid())
            co_await std::move(then.next);
    } catch (const std::system_error&) { // it has gone, or takes nothing
    }
}

task<void> serve_client(session_share self, io::connection client, session_rest rest) {
    worker& home = client.home();
    try {
        behind_session then;
        co_await serve_resting(*self, client, rest, then);
        if (then.is_http2)
            then.next = serve_preface_sender(*self, client, client.peer().to_string());
        if (then.next.valid())
            co_await std::move(then.next);
    } catch (const std::system_error&) { // it has gone already
        if (rest.wanted)
            self->count_gone(home);
        co_return;
    } catch (...) {
        if (rest.wanted)
            self->count_gone(home);
        throw;
    }
}

/// What comes by TLS, from behind the handshake on: by the protocol that was agreed on. Not a
/// coroutine, as serve_session().
task<void> begin_secured(session_shared& self, const tls_clients::secured& client,
                         const std::string& peer, behind_session& then) {
    session_control control = control_of(self, client.rest);
    control.peer = peer;
    control.tls = client.tls;
    control.misdirected = client.misdirected;
    if (client.protocol != "h2")
        return serve_session(self, *client.client, std::move(control), then);
    control.rest = nullptr;
    return serve_http2_client(client.client, &self.routes, &self.limits, std::move(control), false);
}

task<void> serve_secured(session_shared* self, const tls_clients::secured* client,
                         const std::string* peer) {
    behind_session then;
    co_await begin_secured(*self, *client, *peer, then);
    if (then.next.valid())
        co_await std::move(then.next);
}

/// Without `from` it is what the socket says.
task<void> serve_tls_client(session_share self, io::connection client,
                            std::optional<std::string> from) {
    worker& home = client.home();
    session_rest rest;
    const std::string peer = from ? *std::move(from) : client.peer().to_string();
    const tls_clients::protocols by = [&](const tls_clients::secured* agreed) {
        return serve_secured(self.get(), agreed, &peer);
    };
    try {
        worker_counters& counters = self->metrics.of_worker(home.index());
        co_await self->secured->serve(&client, &by, &rest, &counters, self->draining);
    } catch (const std::system_error&) {
        // It has gone already.
    } catch (...) {
        if (rest.wanted)
            self->count_gone(home);
        throw;
    }
    if (rest.wanted)
        self->count_gone(home);
}

/// Of a client that may be a proxy, which speaks for others: before TLS, and before HTTP.
task<void> serve_behind_proxy(session_share self, io::connection client, bool by_tls) {
    std::optional<std::string> peer;
    bool gone = false;
    try {
        if (self->proxies.contains(client.peer())) {
            peer = co_await proxied_peer(&client, &self->limits, self->draining);
            gone = !peer;
        }
    } catch (const std::system_error&) { // it has gone already
        gone = true;
    }
    if (gone)
        co_return;
    if (by_tls)
        co_await serve_tls_client(std::move(self), std::move(client), std::move(peer));
    else if (peer)
        co_await serve_proxied_client(std::move(self), std::move(client), *std::move(peer));
    else
        co_await serve_client(std::move(self), std::move(client), session_rest());
}

/// As serve_client() for one that has rested.
task<void> resume_client(session_share self, io::connection client, session_rest rest) {
    worker& home = client.home();
    try {
        return serve_client(self, std::move(client), rest);
    } catch (...) {
        self->count_gone(home);
        throw;
    }
}

io::server::rest_handlers rest_handlers_of(const session_share& shared) {
    return {.resumed =
                [shared](io::connection client, io::rest_memo memo) {
                    return resume_client(shared, std::move(client), rest_of(memo));
                },
            .ended = [shared](worker& home) { shared->count_gone(home); },
            .look_after = shared->limits.rest_after,
            .idle_timeout = shared->limits.idle_timeout,
            .send_timeout = shared->limits.send_timeout,
            .send_rate_min_bytes_per_s = shared->limits.send_rate_min_bytes_per_s};
}

io::server_options options_of(server_options& options) {
    return {.listen = std::move(options.listen),
            .socket = options.socket,
            .max_connections = options.max_connections,
            .drain_timeout = options.drain_timeout,
            .rest_grace = options.limits.drain_grace};
}

} // namespace

struct server::state {
    state(io::context& ctx, router served, server_options&& options)
        : context(ctx), sessions(std::make_shared<session_shared>(std::move(served), options)),
          listen_tls(std::move(options.listen_tls)),
          clients(ctx, serves(listen_tls.empty() && sessions->secured), options_of(options)) {
        if (!listen_tls.empty())
            clients.also(std::move(listen_tls), serves(true));
        sessions->draining = clients.drain_token();
        sessions->clients = clients.resting();
        clients.set_rest_handlers(rest_handlers_of(sessions));
    }

    [[nodiscard]] io::server::handler serves(bool by_tls) const {
        if (!sessions->proxies.empty()) {
            return [shared = sessions, by_tls](io::connection client) {
                return serve_behind_proxy(shared, std::move(client), by_tls);
            };
        }
        if (by_tls) {
            return [shared = sessions](io::connection client) {
                return serve_tls_client(shared, std::move(client), std::nullopt);
            };
        }
        return [shared = sessions](io::connection client) {
            return serve_client(shared, std::move(client), session_rest());
        };
    }

    io::context& context;
    const session_share sessions;
    std::vector<io::endpoint> listen_tls;
    io::server clients;
};

server::server(io::context& ctx, router routes, server_options options)
    : state_(std::make_unique<state>(ctx, std::move(routes), std::move(options))) {}

server::~server() = default;

void server::attach_task(task<void> body, io::attach_options options) {
    state_->clients.attach(std::move(body), std::move(options));
}
task<void> server::run() { return state_->clients.run(); }
void server::drain() noexcept { state_->clients.drain(); }
void server::refuse(bool on) noexcept {
    state_->sessions->refusing.store(on, std::memory_order_relaxed);
}
void server::reload_certificates() {
    if (state_->sessions->secured != nullptr)
        state_->sessions->secured->reload();
}
bool server::reload_changed_certificates() {
    return state_->sessions->secured != nullptr && state_->sessions->secured->reload_changed();
}
void server::run_until_signalled() { io::run_until_signalled(state_->context, state_->clients); }
void server::run_until_signalled(io::end_signals& signals) {
    io::run_until_signalled(state_->context, state_->clients, signals);
}
std::stop_token server::drain_token() const noexcept { return state_->clients.drain_token(); }
metrics_snapshot server::metrics() const noexcept { return state_->sessions->metrics.read(); }
std::vector<route_metrics> server::metrics_by_route() const {
    return state_->sessions->metrics.read_routes();
}
std::size_t server::connections() const noexcept { return state_->clients.connections(); }
std::vector<io::endpoint> server::listening() const { return state_->clients.listening(); }

int serve(router routes, const std::string& address, server_options options,
          const io::context_options& context) noexcept {
    return io::exit_code_of([&] {
        options.listen.push_back(io::endpoint::parse(address));
        io::end_signals signals(options.drain_timeout); // around the context, which may hang, too
        io::context ctx(context);
        server serving(ctx, std::move(routes), std::move(options));
        serving.run_until_signalled(signals);
    });
}

} // namespace rota::http
