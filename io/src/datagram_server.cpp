#include <rota/io/datagram_server.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/io/end_signals.hpp>
#include <rota/io/log.hpp>
#include <rota/io/server.hpp>
#include <rota/join.hpp>
#include <rota/time_span.hpp>
#include <rota/under.hpp>
#include <rota/with_timeout.hpp>

#include "access.hpp"
#include "beside_signals.hpp"
#include "bind_failure.hpp"
#include "datagram_core.hpp"
#include "gate.hpp"
#include "run_guard.hpp"
#include "socket_option.hpp"

namespace rota::io {

struct datagram_server::state {
    state(context& c, handler h, const endpoint& where, datagram_server_options o)
        : ctx(c), options(o), address(where), on_socket(std::move(h)) {}

    void settle(std::optional<endpoint> where) {
        const std::lock_guard guard(lock);
        if (!bound)
            bound = where;
        settled.notify_all();
    }
    /// run() has ended, or never will begin.
    void end_run() noexcept {
        settle(std::nullopt);
        on_socket = {};
    }

    context& ctx;
    const datagram_server_options options;
    const endpoint address;
    handler on_socket;         // given up by run()
    bool begun = false;        // run() has been called
    std::stop_source draining; // sockets give what is there, and then nothing
    std::stop_source hurry;    // do not wait for the handlers
    gate open{std::numeric_limits<std::size_t>::max()}; // sockets

    std::mutex lock;
    std::condition_variable settled;
    std::optional<std::optional<endpoint>> bound;
};

namespace {

/// How long sockets whose handlers have ended have to be closed.
constexpr auto closing_grace = std::chrono::seconds(1);

/// The workers that take new routines, `max` at most.
std::vector<worker*> workers_of(context& ctx, std::size_t max) {
    std::vector<worker*> all;
    for (const worker_status& w : ctx.workers().workers()) {
        if (!w.draining && (max == 0 || all.size() < max))
            all.push_back(ctx.workers().worker_at(w.index));
    }
    return all;
}

/// So many sockets on one address. No other program may be there, so the first one is bound before
/// it agrees to share.
std::vector<accepted_socket> open_sockets(const endpoint& address, datagram_options options,
                                          std::size_t count) {
    std::vector<accepted_socket> all;
    all.push_back(open_datagrams(address, options));
    const endpoint bound = local_of(all.front().get());
    if (count > 1 && !set_option(all.front().get(), SOL_SOCKET, SO_REUSEPORT, 1))
        throw_bind_failure(address, "cannot share", SOCK_DGRAM);
    options.reuse_port = true;
    while (all.size() < count)
        all.push_back(open_datagrams(bound, options));
    return all;
}

/// Waits for the end of each; what ended one of them, if anything.
task<std::exception_ptr> until_all_ended(const std::vector<routine_ptr>* routines) {
    std::exception_ptr error;
    for (const routine_ptr& each : *routines) {
        try {
            co_await join(each);
        } catch (const operation_cancelled&) {
            if (each->state() != routine_state::stopped)
                throw; // this routine is to stop waiting
        } catch (...) {
            error = std::current_exception();
        }
    }
    co_return error;
}

/// A socket of a server, until it is closed.
struct socket_life {
    datagram_core* core = nullptr; // while it is open
    bool received = false;         // something, before it was closed
    event closed;
};
using socket_life_ptr = std::shared_ptr<socket_life>;

/// Runs a handler on one socket.
task<void> serve_once(std::shared_ptr<datagram_server::state> s, accepted_socket bound,
                      socket_life_ptr life) {
    routine& self = co_await current_routine;
    s->open.enter_now();
    try {
        life->core = new datagram_core(context_access::io_of(s->ctx, self.home()), std::move(bound),
                                       s->options.socket, assignment(self.home()), [s, life] {
                                           life->received = life->core->receiver.received() != 0;
                                           life->closed.set();
                                           s->open.leave();
                                       });
    } catch (...) {
        s->open.leave();
        throw;
    }
    datagram_socket socket(life->core);
    socket.drain_on(s->draining.get_token());
    co_await rota::detail::returned(s->on_socket(std::move(socket)));
}

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

} // namespace

/// Runs handlers, one after the other: what one datagram does to a handler is not to end the
/// service for all. One that fails before it has received anything fails always.
static task<void> serve_socket(std::shared_ptr<datagram_server::state> s, accepted_socket bound,
                               endpoint where, bool shared) {
    datagram_options options = s->options.socket;
    options.reuse_port = options.reuse_port || shared;
    for (;;) {
        const auto life = std::make_shared<socket_life>();
        std::exception_ptr error;
        try {
            co_await serve_once(s, std::move(bound), life);
            co_return;
        } catch (const operation_cancelled&) {
            throw;
        } catch (...) {
            error = std::current_exception();
        }
        try {
            co_await with_timeout(closing_grace, life->closed.wait());
        } catch (const timed_out&) { // the handler has given its socket away
        }
        if (!life->received || s->draining.stop_requested())
            std::rethrow_exception(error);
        log::error("a handler of datagrams has ended by an exception; it begins again, with a "
                   "new socket for {}: {}",
                   where.to_string(), text_of(error));
        bound = open_datagrams(where, options);
    }
}

/// Serves, then drains. What it leaves in `handlers` is for its caller to end.
static task<void> serve_then_drain(std::shared_ptr<datagram_server::state> s,
                                   std::vector<routine_ptr>* handlers) {
    const std::vector<worker*> workers = workers_of(s->ctx, s->options.sockets);
    std::vector<accepted_socket> sockets =
        open_sockets(s->address, s->options.socket, workers.size());
    const endpoint bound = local_of(sockets.front().get());
    handlers->reserve(workers.size()); // one that runs is one whose end is awaited
    for (std::size_t i = 0; i < workers.size(); ++i) {
        handlers->push_back(s->ctx.workers().spawn(
            serve_socket(s, std::move(sockets[i]), bound, workers.size() > 1),
            {.name = "datagrams", .on = workers[i]}));
    }
    log::info("listening on {} for datagrams, sockets: {}", bound.to_string(), workers.size());
    s->settle(bound);
    const std::stop_token stopped = co_await current_stop_token;
    try {
        co_await under(s->draining.get_token(), until_all_ended(handlers));
        co_return;
    } catch (const operation_cancelled&) { // by which of the two is seen below
    }
    s->draining.request_stop(); // in case it was this routine that was to stop
    if (stopped.stop_requested())
        co_return;
    try {
        co_await with_timeout(s->options.drain_timeout,
                              under(s->hurry.get_token(), until_all_ended(handlers)));
    } catch (const timed_out&) {
        log::warn("drain: cancelling handlers of datagrams");
    } catch (const operation_cancelled&) { // so they are cancelled without a word
    }
}

/// Whatever happens, it ends after all that uses what the program has given to the server.
static task<void> run_to_the_end(run_guard<datagram_server::state> given) {
    const run_guard life = std::move(given); // ends with the coroutine, not with its frame
    const std::shared_ptr<datagram_server::state>& s = life.of();
    std::vector<routine_ptr> handlers;
    std::exception_ptr error;
    task<std::exception_ptr> ended = until_all_ended(&handlers); // so that the end needs no memory
    try {
        co_await serve_then_drain(s, &handlers);
    } catch (...) {
        error = std::current_exception();
        s->settle(std::nullopt); // before it receives, perhaps
    }
    for (const routine_ptr& each : handlers)
        each->request_stop();
    std::stop_source nobody;
    const std::stop_token not_stopped = nobody.get_token();
    const std::exception_ptr theirs = co_await ended.under(not_stopped);
    try {
        task<void> closed = with_timeout(closing_grace, until_nobody_in(&s->open));
        co_await closed.under(not_stopped);
    } catch (const timed_out&) { // a handler has given its socket away, to whatever keeps it
    }
    if (error || theirs)
        std::rethrow_exception(error ? error : theirs);
}

static datagram_server_options checked(datagram_server_options options) {
    if (options.drain_timeout.count() < 0)
        throw std::invalid_argument("datagram_server: drain_timeout must not be negative");
    options.drain_timeout = at_most_ten_years(options.drain_timeout);
    return options;
}

datagram_server::datagram_server(context& ctx, handler on_socket, const endpoint& address,
                                 datagram_server_options options)
    : state_(std::make_shared<state>(ctx, std::move(on_socket), address, checked(options))) {
    if (!state_->on_socket)
        throw std::invalid_argument("datagram_server: no handler");
    if (address.family() == AF_UNSPEC)
        throw std::invalid_argument("datagram_server: the address is empty");
}

datagram_server::~datagram_server() { state_->settle(std::nullopt); }

task<void> datagram_server::run() {
    if (state_->begun)
        throw std::logic_error("datagram_server: run() may be called once");
    state_->begun = true;
    return run_to_the_end(run_guard(state_));
}

void datagram_server::drain() noexcept {
    if (!state_->draining.request_stop())
        state_->hurry.request_stop();
}

std::optional<endpoint> datagram_server::local() const {
    std::unique_lock guard(state_->lock);
    if (!state_->bound) {
        guard.unlock(); // the runtime has a lock, too
        state_->ctx.workers().refuse_own_thread("local()");
        guard.lock();
    }
    state_->settled.wait(guard, [this] { return state_->bound.has_value(); });
    return *state_->bound;
}

int serve_datagrams(datagram_server::handler on_socket, const std::string& address,
                    datagram_server_options options, const context_options& context) noexcept {
    return exit_code_of([&] {
        end_signals signals(options.drain_timeout); // around the context, which may hang, too
        io::context ctx(context);
        datagram_server serving(ctx, std::move(on_socket), endpoint::parse(address), options);
        run_beside_signals(ctx, serving, signals);
    });
}

} // namespace rota::io
