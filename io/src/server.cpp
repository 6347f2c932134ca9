#include <rota/io/server.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <rota/io/log.hpp>
#include <rota/join.hpp>
#include <rota/linked_stop.hpp>
#include <rota/time_span.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

#include "gate.hpp"
#include "run_guard.hpp"
#include "server_state.hpp"

namespace rota::io {
namespace {

/// How long cancelled clients have to get rid of their connections.
constexpr auto last_grace = std::chrono::seconds(1);

task<void> wait_for_ever() {
    gate nobody_may(0);
    auto entry = nobody_may.enter();
    co_await entry;
}

/// Ends when one of two tokens is requested.
task<void> until_either(std::stop_token a, std::stop_token b) {
    const linked_stop either(a, b);
    try {
        task<void> waiting = wait_for_ever();
        co_await waiting.under(either.token());
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
            throw; // it is this that is to stop waiting
        } catch (...) {
            // accept() after close() mostly, and that is its end.
        }
    }
}

} // namespace

static void refuse_empty(const std::vector<endpoint>& listen) {
    for (const endpoint& each : listen) {
        if (each.family() == AF_UNSPEC)
            throw std::invalid_argument("server: an address to listen on is empty");
    }
}

static std::shared_ptr<server::state> checked(context& ctx, bool has_handler,
                                              server_options options) {
    if (options.listen.empty())
        throw std::invalid_argument("server: nowhere to listen");
    refuse_empty(options.listen);
    if (options.max_connections == 0) {
        throw std::invalid_argument("server: max_connections must be at least 1");
    }
    if (!has_handler)
        throw std::invalid_argument("server: no handler");
    const auto check = [](std::chrono::milliseconds& time, const char* name) {
        if (time.count() < 0)
            throw std::invalid_argument(std::string("server: ") + name + " must not be negative");
        time = at_most_ten_years(time);
    };
    check(options.drain_timeout, "drain_timeout");
    check(options.rest_grace, "rest_grace");
    return std::make_shared<server::state>(ctx, std::move(options));
}

server::server(context& ctx, handler on_client, server_options options)
    : state_(checked(ctx, on_client != nullptr, std::move(options))) {
    state_->on_client = std::move(on_client);
}

server::server(context& ctx, drained_handler on_client, server_options options)
    : state_(checked(ctx, on_client != nullptr, std::move(options))) {
    state_->on_client = [on_client = std::move(on_client), draining = state_->draining.get_token()](
                            connection client) { return on_client(std::move(client), draining); };
}

void server::also(std::vector<endpoint> listen, handler on_client) {
    if (state_->begun)
        throw std::logic_error("server: also() comes before run()");
    if (listen.empty() || on_client == nullptr)
        throw std::invalid_argument("server: also() needs an address and a handler");
    refuse_empty(listen);
    state_->others.push_back({.listen = std::move(listen), .on_client = std::move(on_client)});
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
    if (!state_->bound) {
        guard.unlock(); // the runtime has a lock, too
        state_->ctx.workers().refuse_own_thread("listening()");
        guard.lock();
    }
    state_->settled.wait(guard, [this] { return state_->bound.has_value(); });
    return *state_->bound;
}

void server::attach_task(task<void> body, attach_options options) {
    if (state_->begun)
        throw std::logic_error("server: attach() comes before run()");
    state_->attached.push_back({.body = std::move(body), .options = std::move(options)});
}

void server::set_rest_handlers(rest_handlers handlers) {
    state_->of_rests = {.look_after = at_most_ten_years(handlers.look_after),
                        .idle_max = at_most_ten_years(handlers.idle_timeout),
                        .send_timeout = at_most_ten_years(handlers.send_timeout),
                        .send_rate_min = handlers.send_rate_min_bytes_per_s};
    state_->rests = std::move(handlers);
}

rest_place server::resting() const noexcept {
    rest_place place;
    place.of_ = state_.get();
    return place;
}

/// Lets clients in until the listener is closed or a stop is requested.
static task<void> accept_clients(std::shared_ptr<server::state> s, listener* from,
                                 const server::handler* by) {
    for (;;) {
        auto permit = s->clients.enter();
        co_await permit;
        std::optional<accepted_socket> socket = from->try_accept();
        if (!socket) {
            s->clients.leave(); // another listener's client may have the place meanwhile
            try {
                co_await from->ready();
                continue;
            } catch (const std::bad_alloc&) { // others may come to give something back
            }
            co_await yield();
            continue;
        }
        s->client_came();
        try {
            s->start(std::move(socket), connection(nullptr), {}, nullptr, by);
        } catch (const std::exception& e) { // no memory: it is this client that goes without
            s->client_gone();
            log::error("a client is turned away: {}", e.what());
        }
    }
}

/// Until nobody is let in any more, no handler runs, and no connection is left.
static task<void> until_gone(server::state* s, const std::vector<routine_ptr>* acceptors) {
    co_await until_ended(acceptors);
    co_await until_nobody_in(&s->served);
    co_await until_nobody_in(&s->clients);
}

/// True if `what` ends by itself before the time is up, a second drain() and a stop request.
static task<bool> comes_in_time(server::state* s, time_span time, task<void> what,
                                std::stop_token stopped) {
    const linked_stop cut(s->hurry.get_token(), stopped);
    try {
        task<void> coming = with_timeout(time, std::move(what));
        co_await coming.under(cut.token());
        co_return true;
    } catch (const timed_out&) {
        co_return false;
    } catch (const operation_cancelled&) {
        co_return false;
    }
}

/// Where clients come from, and whose they are.
struct open_listener {
    std::unique_ptr<listener> from;
    const server::handler* by;
};
using listeners = std::vector<open_listener>;

static void open_listeners(server::state& s, worker& home, listeners& open) {
    std::vector<endpoint> bound;
    const auto open_one = [&](const endpoint& where, const server::handler& by) {
        open.push_back({std::make_unique<listener>(s.ctx, home, where, s.options.socket), &by});
        bound.push_back(open.back().from->local());
    };
    try {
        for (const endpoint& each : s.options.listen)
            open_one(each, s.on_client);
        for (const server::state::other_clients& other : s.others) {
            for (const endpoint& each : other.listen)
                open_one(each, other.on_client);
        }
    } catch (...) {
        s.settle({});
        throw;
    }
    for (const endpoint& e : bound)
        log::info("listening on {}", e.to_string());
    s.settle(std::move(bound));
}

/// Starts what runs beside the clients. What it leaves in `running` is for its caller to end.
static void start_attached(server::state& s, std::vector<routine_ptr>& running) {
    running.reserve(s.attached.size());
    for (server::state::background& each : s.attached) {
        running.push_back(s.ctx.workers().spawn(std::move(each.body), {.name = each.options.name}));
    }
}

/// There is no more work for them. True if one of them may finish; the others are stopped.
static bool finish_attached(server::state& s, const std::vector<routine_ptr>& running) {
    bool any = false;
    for (std::size_t i = 0; i < running.size(); ++i) {
        const auto& finish = s.attached[i].options.finish;
        try {
            if (finish) {
                finish();
                any = true;
                continue;
            }
        } catch (...) {
            running[i]->owner().report(*running[i], std::current_exception());
        }
        running[i]->request_stop();
    }
    return any;
}

/// Until what is attached has ended, or may not take longer.
static task<void> let_attached_finish(server::state* s, const std::vector<routine_ptr>* running,
                                      std::stop_token stopped) {
    if (!finish_attached(*s, *running))
        co_return;
    // Work that had all of the drain has left no time of it.
    using clock = std::chrono::steady_clock;
    const auto at_least = std::min<clock::duration>(s->options.drain_timeout, last_grace);
    const auto until = std::max(s->drain_until, clock::now() + at_least);
    for (bool waited = false; !waited;) {
        try {
            task<void> ended = until_ended(running);
            (void)co_await comes_in_time(s, until - clock::now(), std::move(ended), stopped);
            waited = true;
        } catch (const std::bad_alloc&) { // for waiting
            waited = clock::now() >= until;
        }
        if (!waited)
            co_await yield();
    }
    for (const routine_ptr& each : *running) {
        if (each->state() == routine_state::stopped)
            continue;
        log::warn("drain: cancelling \"{}\", which has not finished", each->name());
        each->request_stop();
    }
}

/// Serves, then drains. What it leaves in the vectors is for its caller to end.
static task<void> serve_then_drain(std::shared_ptr<server::state> s, listeners* open,
                                   std::vector<routine_ptr>* acceptors,
                                   std::vector<routine_ptr>* beside) {
    routine& self = co_await current_routine;
    open_listeners(*s, self.home(), *open);
    start_attached(*s, *beside);
    acceptors->reserve(open->size()); // one that runs is one whose end is awaited
    for (const open_listener& l : *open) {
        acceptors->push_back(s->ctx.workers().spawn(
            accept_clients(s, l.from.get(), l.by),
            {.name = "acceptor", .on = &self.home(), .report_errors = false}));
    }
    const std::stop_token stopped = co_await current_stop_token;
    co_await until_either(s->draining.get_token(), stopped);
    s->draining.request_stop(); // in case it was this routine that was to stop

    s->end_rests();

    // The kernel refuses new clients from here on; those that it had let in are still served.
    for (const open_listener& l : *open)
        l.from->close();
    s->drain_until = std::chrono::steady_clock::now() + s->options.drain_timeout;
    for (bool waited = false; !waited;) {
        try {
            task<void> gone = until_gone(s.get(), acceptors);
            const bool in_time =
                co_await comes_in_time(s.get(), s->options.drain_timeout, std::move(gone), stopped);
            if (in_time)
                co_return;
            waited = true;
        } catch (const std::bad_alloc&) { // for waiting: others go on, and give something back
            waited = std::chrono::steady_clock::now() >= s->drain_until;
        }
        if (!waited)
            co_await yield();
    }
    if (const std::size_t left = s->connections.load(); left != 0)
        log::warn("drain: cancelling {} connections", left);
    s->cancel(*acceptors);
    // Their routines end at once, unless they do not let go. What they had written may linger; the
    // context aborts it in the end.
    std::stop_source nobody;
    const std::stop_token not_stopped = nobody.get_token();
    try {
        task<void> gone = with_timeout(last_grace, until_gone(s.get(), acceptors));
        co_await gone.under(not_stopped);
        co_return;
    } catch (const timed_out&) { // said below
    }
    if (s->served.inside() != 0) {
        log::warn("drain: waiting for handlers, which go on although cancelled; connections: {}",
                  s->connections.load());
    } else {
        log::warn("drain: {} connections are left to the context", s->connections.load());
    }
}

/// Whatever happens, it ends after all that uses what the program has given to the server, or may
/// give up once this has returned: first the acceptors, which refer to the listeners, then every
/// handler, then what runs beside them. Only connections may be left, whose bytes go out.
static task<void> run_to_the_end(run_guard<server::state> given) {
    const run_guard life = std::move(given); // ends with the coroutine, not with its frame
    const std::shared_ptr<server::state>& s = life.of();
    listeners open;
    std::vector<routine_ptr> acceptors;
    std::vector<routine_ptr> beside;
    std::exception_ptr error;
    const std::stop_token stopped = co_await current_stop_token;
    // Made here, so that the end needs no memory.
    task<void> accepted = until_ended(&acceptors);
    task<void> served = until_nobody_in(&s->served);
    task<void> left_alone = until_ended(&beside);
    task<void> finishing = let_attached_finish(s.get(), &beside, stopped);
    std::stop_source nobody;
    const std::stop_token not_stopped = nobody.get_token();
    try {
        co_await serve_then_drain(s, &open, &acceptors, &beside);
    } catch (...) {
        error = std::current_exception();
        s->settle({}); // before it listens, perhaps
    }
    s->cancel(acceptors);
    co_await accepted.under(not_stopped);
    co_await served.under(not_stopped);
    try {
        co_await finishing.under(not_stopped);
    } catch (...) { // no memory: they are stopped now
    }
    for (const routine_ptr& each : beside)
        each->request_stop();
    co_await left_alone.under(not_stopped);
    if (error)
        std::rethrow_exception(error);
}

task<void> server::run() {
    if (state_->begun)
        throw std::logic_error("server: run() may be called once");
    state_->begun = true;
    return run_to_the_end(run_guard(state_));
}

} // namespace rota::io
