#include <rota/http/server.hpp>

#include <atomic>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include <rota/io/connection.hpp>

namespace rota::http {

struct server::state {
    state(io::context& ctx, router served, server_options&& options)
        : context(ctx), routes(std::move(served)), limits(options.limits),
          hooks(std::move(options.hooks)),
          clients(
              ctx,
              [this](io::connection client) {
                  return serve_client(this, std::move(client), session_rest());
              },
              io::server_options{.listen = std::move(options.listen),
                                 .socket = options.socket,
                                 .max_connections = options.max_connections,
                                 .drain_timeout = options.drain_timeout,
                                 .rest_grace = options.limits.drain_grace}) {
        clients.set_rest_handlers({.resumed =
                                       [this](io::connection client, io::rest_memo memo) {
                                           const session_rest before{.wanted = true,
                                                                     .until = {},
                                                                     .requests = memo[0],
                                                                     .bytes_sent = memo[1]};
                                           return serve_client(this, std::move(client), before);
                                       },
                                   .ended = [this](worker& home) { count_gone(home); }});
        if (!hooks.on_error) {
            hooks.on_error = [](std::string_view message) {
                std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
            };
        }
    }

    /// One that had rested, and has no session to count it.
    void count_gone(const worker& home) noexcept {
        metrics.of_worker(home.index()).connections_open.subtract(1);
    }

    static task<void> serve_client(state* self, io::connection client, session_rest rest) {
        session_control control;
        control.draining = self->clients.drain_token();
        control.metrics = &self->metrics;
        control.hooks = &self->hooks;
        control.refusing = &self->refusing;
        control.rest = &rest;
        try {
            control.peer = client.peer().to_string();
        } catch (const std::system_error&) { // it has gone already
            if (rest.wanted)
                self->count_gone(client.home());
            co_return;
        }
        co_await serve_connection(&client, &self->routes, &self->limits, std::move(control));
        if (rest.wanted)
            self->clients.rest(std::move(client), rest.until, {rest.requests, rest.bytes_sent});
    }

    io::context& context;
    router routes;
    const server_limits limits;
    session_hooks hooks;
    server_metrics metrics;
    std::atomic<bool> refusing{false};
    io::server clients;
};

server::server(io::context& ctx, router routes, server_options options)
    : state_(std::make_unique<state>(ctx, std::move(routes), std::move(options))) {}

server::~server() = default;

task<void> server::run() { return state_->clients.run(); }
void server::drain() noexcept { state_->clients.drain(); }
void server::refuse(bool on) noexcept { state_->refusing.store(on, std::memory_order_relaxed); }
void server::run_until_signalled() { io::run_until_signalled(state_->context, state_->clients); }
std::stop_token server::drain_token() const noexcept { return state_->clients.drain_token(); }
metrics_snapshot server::metrics() const noexcept { return state_->metrics.read(); }
std::size_t server::connections() const noexcept { return state_->clients.connections(); }
std::vector<io::endpoint> server::listening() const { return state_->clients.listening(); }

void serve(router routes, const std::string& address, server_options options,
           const io::context_options& context) {
    options.listen.push_back(io::endpoint::parse(address));
    io::context ctx(context);
    server serving(ctx, std::move(routes), std::move(options));
    serving.run_until_signalled();
}

} // namespace rota::http
