#include <rota/io/server.hpp>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <rota/io/signals.hpp>
#include <rota/join.hpp>
#include <rota/with_timeout.hpp>
#include <spdlog/spdlog.h>

#include "gate.hpp"
#include "server_state.hpp"

namespace rota::io {
namespace {

/// How long cancelled clients have to get rid of their connections.
constexpr auto last_grace = std::chrono::seconds(1);

bool peer_has_gone(const std::system_error& e) noexcept {
    switch (e.code().value()) {
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
        return true;
    default:
        return false;
    }
}

} // namespace

namespace {

/// Passes a stop request on.
struct request_routine_stop {
    routine* target;
    void operator()() const noexcept { target->request_stop(); }
};
struct request_source_stop {
    std::stop_source target;
    void operator()() noexcept { target.request_stop(); }
};
using routine_link = std::stop_callback<request_routine_stop>;
using source_link = std::stop_callback<request_source_stop>;

task<void> wait_for_ever() {
    gate nobody_may(0);
    auto entry = nobody_may.enter();
    co_await entry;
}

/// Ends when one of two tokens is requested.
task<void> until_either(std::stop_token a, std::stop_token b) {
    std::stop_source either;
    const source_link link_a(a, request_source_stop{either});
    const source_link link_b(b, request_source_stop{either});
    const std::stop_token token = either.get_token();
    try {
        task<void> waiting = wait_for_ever();
        co_await waiting.under(token);
    } catch (const operation_cancelled&) {
        // That is what it waits for.
    }
}

/// Waits for the end of each, whatever it was.
task<void> until_ended(const std::vector<routine_ptr>* routines) {
    for (const routine_ptr& r : *routines) {
        try {
            co_await join(r);
        } catch (const operation_cancelled&) {
            throw; // it is us who are to stop waiting
        } catch (...) {
            // accept() after close() mostly, and that is its end.
        }
    }
}

task<void> until_gone(gate* clients, const std::vector<routine_ptr>* acceptors) {
    co_await until_ended(acceptors);
    auto emptied = clients->empty();
    co_await emptied;
}

} // namespace

server::server(context& ctx, handler on_client, server_options options) {
    if (options.listen.empty())
        throw std::invalid_argument("server: nowhere to listen");
    if (options.max_connections == 0) {
        throw std::invalid_argument("server: max_connections must be at least 1");
    }
    if (!on_client)
        throw std::invalid_argument("server: no handler");
    state_ = std::make_shared<state>(ctx, std::move(on_client), std::move(options));
}

server::~server() { state_->settle({}); }

void server::drain() noexcept {
    if (!state_->draining.request_stop())
        state_->hurry.request_stop();
}

std::stop_token server::drain_token() const noexcept { return state_->draining.get_token(); }

std::size_t server::connections() const noexcept {
    return state_->connections.load(std::memory_order_relaxed);
}

std::vector<endpoint> server::listening() const {
    std::unique_lock guard(state_->lock);
    state_->settled.wait(guard, [this] { return state_->bound.has_value(); });
    return *state_->bound;
}

void server::set_rest_handlers(rest_handlers handlers) { state_->rests = std::move(handlers); }

void server::rest(connection client, std::chrono::steady_clock::time_point until, rest_memo memo) {
    state_->rest(std::move(client), until, memo);
}

/// The accepted client's connection, which gives its place back at its end, or now if it cannot be.
static connection open_client(const std::shared_ptr<server::state>& s, accepted_socket socket,
                              worker& home) {
    try {
        return adopt(s->ctx, std::move(socket), assignment(home), [s] { s->client_gone(); });
    } catch (...) {
        s->client_gone();
        throw;
    }
}

/// One client: the handler, and what becomes of its exceptions. Without a `socket` it has rested.
static task<void> serve_client(std::shared_ptr<server::state> s,
                               std::optional<accepted_socket> socket, connection client,
                               rest_memo memo) {
    routine& self = co_await current_routine;
    const routine_link cancel(s->cancelling.get_token(), request_routine_stop{&self});
    if (socket)
        client = open_client(s, std::move(*socket), self.home());
    try {
        task<void> handling;
        if (socket) {
            handling = s->on_client(std::move(client));
        } else {
            handling = s->rests.resumed(std::move(client), memo);
        }
        co_await std::move(handling);
    } catch (const timed_out&) {
        throw; // the program's own
    } catch (const std::system_error& e) {
        if (!peer_has_gone(e))
            throw;
        spdlog::debug("client#{}: {}", self.id(), e.what());
    }
}

void server::state::rest(connection client, std::chrono::steady_clock::time_point until,
                         rest_memo memo) {
    const auto now = client.home().turn_time();
    if (draining.stop_requested())
        until = std::min(until, now + options.rest_grace);
    if (cancelling.stop_requested())
        until = now;
    client.rest(*this, until, memo);
}

void server::state::rest_over(connection_core& c) noexcept {
    worker& home = c.home();
    const rest_memo memo = c.memo();
    connection client(&c);
    if (!client.buffered().empty()) {
        try {
            ctx.workers().spawn(
                serve_client(shared_from_this(), std::nullopt, std::move(client), memo),
                {.name = "client", .on = &home});
            return;
        } catch (const std::exception& e) { // no memory: it is this client that goes
            spdlog::error("a client is given up: {}", e.what());
        }
    }
    rests.ended(home);
}

static task<void> end_rests_of(server::state* s, worker_io* io, std::chrono::milliseconds grace) {
    io->end_rests_by(*s, io->home.turn_time() + grace);
    co_return;
}

void server::state::end_rests_within(std::chrono::milliseconds grace) {
    for (std::size_t i = 0; i < runtime::max_workers; ++i) {
        worker* const w = ctx.workers().worker_at(i);
        if (w == nullptr)
            continue;
        try {
            ctx.workers().spawn(end_rests_of(this, &ctx.io_of(*w), grace),
                                {.name = "end rests", .on = w});
        } catch (const std::logic_error&) {
            // The worker has ended, so it has no connections.
        }
    }
}

/// Lets clients in until the listener is closed or a stop is requested.
static task<void> accept_clients(std::shared_ptr<server::state> s, listener* from) {
    for (;;) {
        auto permit = s->clients.enter();
        co_await permit;
        std::optional<accepted_socket> socket = from->try_accept();
        if (!socket) {
            s->clients.leave(); // another listener's client may have the place meanwhile
            co_await from->ready();
            continue;
        }
        s->client_came();
        try {
            s->ctx.workers().spawn(serve_client(s, std::move(socket), connection(nullptr), {}),
                                   {.name = "client"});
        } catch (const std::exception& e) { // no memory: it is this client that goes without
            s->client_gone();
            spdlog::error("a client is turned away: {}", e.what());
        }
    }
}

/// True if every client went by itself before the drain timeout, a second drain() and a stop
/// request.
static task<bool> wait_for_clients(server::state* s, const std::vector<routine_ptr>* acceptors,
                                   std::stop_token stopped) {
    std::stop_source cut;
    const source_link on_hurry(s->hurry.get_token(), request_source_stop{cut});
    const source_link on_stop(stopped, request_source_stop{cut});
    const std::stop_token token = cut.get_token();
    try {
        task<void> gone =
            with_timeout(s->options.drain_timeout, until_gone(&s->clients, acceptors));
        co_await gone.under(token);
        co_return true;
    } catch (const timed_out&) {
        co_return false;
    } catch (const operation_cancelled&) {
        co_return false;
    }
}

using listeners = std::vector<std::unique_ptr<listener>>;

static void open_listeners(server::state& s, worker& home, listeners& open) {
    std::vector<endpoint> bound;
    try {
        for (const endpoint& e : s.options.listen) {
            open.push_back(std::make_unique<listener>(s.ctx, home, e, s.options.socket));
            bound.push_back(open.back()->local());
        }
    } catch (...) {
        s.settle({});
        throw;
    }
    for (const endpoint& e : bound)
        spdlog::info("listening on {}", e.to_string());
    s.settle(std::move(bound));
}

/// Serves, then drains. What it leaves in the two vectors is for its caller to end.
static task<void> serve(std::shared_ptr<server::state> s, listeners* open,
                        std::vector<routine_ptr>* acceptors) {
    routine& self = co_await current_routine;
    open_listeners(*s, self.home(), *open);
    for (const auto& l : *open) {
        acceptors->push_back(s->ctx.workers().spawn(
            accept_clients(s, l.get()),
            {.name = "acceptor", .on = &self.home(), .report_errors = false}));
    }
    const std::stop_token stopped = co_await current_stop_token;
    co_await until_either(s->draining.get_token(), stopped);
    s->draining.request_stop(); // in case it was this routine that was to stop

    s->end_rests_within(s->options.rest_grace);

    // The kernel refuses new clients from here on; those that it had let in are still served.
    for (const auto& l : *open)
        l->close();
    const bool in_time = co_await wait_for_clients(s.get(), acceptors, stopped);
    if (in_time)
        co_return;
    if (const std::size_t left = s->connections.load(); left != 0)
        spdlog::warn("drain: cancelling {} connections", left);
    for (const routine_ptr& a : *acceptors)
        a->request_stop();
    s->cancelling.request_stop();
    s->end_rests_within(std::chrono::milliseconds(0));
    // Their routines end at once. What they had written may linger; the context aborts it in the
    // end.
    std::stop_source nobody;
    const std::stop_token not_stopped = nobody.get_token();
    try {
        task<void> gone = with_timeout(last_grace, until_gone(&s->clients, acceptors));
        co_await gone.under(not_stopped);
    } catch (const timed_out&) {
        spdlog::warn("drain: {} connections are left to the context", s->connections.load());
    }
}

task<void> server::run() {
    listeners open;
    std::vector<routine_ptr> acceptors;
    std::exception_ptr error;
    try {
        co_await serve(state_, &open, &acceptors);
    } catch (...) {
        error = std::current_exception();
    }
    // The acceptors refer to the listeners, so they end first, whatever happened.
    for (const routine_ptr& a : acceptors)
        a->request_stop();
    std::stop_source nobody;
    const std::stop_token not_stopped = nobody.get_token();
    task<void> ended = until_ended(&acceptors);
    co_await ended.under(not_stopped);
    if (error)
        std::rethrow_exception(error);
}

static task<void> drain_on_signals(context* ctx, server* s, signal_set* signals) {
    for (;;) {
        const int number = co_await signals->next(*ctx);
        spdlog::info("signal {}: draining", number);
        s->drain();
    }
}

/// Who starts a program by nohup(1) wants it to outlive the terminal.
static bool is_ignored(int signal) noexcept {
    struct sigaction now {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void run_beside_signals(context& ctx, server& s) {
    signal_set signals{SIGINT, SIGTERM, is_ignored(SIGHUP) ? SIGTERM : SIGHUP};
    const routine_ptr watcher =
        ctx.workers().spawn(drain_on_signals(&ctx, &s, &signals), {.name = "signals"});
    std::exception_ptr error;
    try {
        ctx.block_on(s.run());
    } catch (...) {
        error = std::current_exception();
    }
    watcher->request_stop();
    watcher->wait_stopped();
    if (error)
        std::rethrow_exception(error);
}

void run_until_signalled(context& ctx, server& s) {
    try {
        run_beside_signals(ctx, s);
    } catch (...) {
        s.state_->settle({}); // before run(), perhaps: nobody is to wait for it
        throw;
    }
}

} // namespace rota::io
