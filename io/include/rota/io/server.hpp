#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/awaitable.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/context.hpp>
#include <rota/io/endpoint.hpp>
#include <rota/io/listener.hpp>
#include <rota/task.hpp>

namespace rota::io {

class end_signals; // <rota/io/end_signals.hpp>
class rest_place;  // <rota/io/resting.hpp>

struct server_options {
    /// Where to listen, at least one: {"127.0.0.1:8080", "unix:/run/x.sock"}.
    std::vector<endpoint> listen{};
    listen_options socket{};
    /// Connections at once; further clients wait in the backlog. At least 1.
    std::size_t max_connections = 10'000;
    /// How long a drain waits for clients before it cancels them.
    std::chrono::milliseconds drain_timeout = std::chrono::seconds(10);
    /// How long resting clients are kept when a drain begins.
    std::chrono::milliseconds rest_grace = std::chrono::milliseconds(100);
};

/// For work beside the clients: server::attach().
struct attach_options {
    std::string name = "background";
    /// Called once the last handler has ended: no more work will come, so it closes, for instance,
    /// the channel that the body takes work from. Then the body may finish what it has as long as
    /// the drain may take, and the rest of it is cancelled. Without it the body is stopped at that
    /// moment. Called on any worker; if it throws, that is reported, and it counts as absent.
    std::function<void()> finish{};
};

/// Accepts clients and runs one routine for each, on the worker that the least-loaded scheduler
/// picks.
///
/// The permit for a connection is taken before it is accepted and is given back when its descriptor
/// has been closed. An exception that leaves a handler ends that client only and is logged; that
/// the peer has gone (ECONNRESET, EPIPE, ...) is not an error.
///
/// Handlers, and the rest_handlers, are called, run and are stored no longer than run() does, even
/// if the server object is destroyed before; so what they refer to outlives run(). The context
/// outlives all of it.
class server {
public:
    struct state; // defined where the server is

    /// Called for each client, on its worker. The connection closes when the handler destroys it. A
    /// lambda that captures may be a coroutine: the server keeps it, where it is, until the last of
    /// its coroutines has ended.
    using handler = std::function<task<void>(connection)>;
    /// Called in the same way, for a handler that keeps its client for long: it is given
    /// drain_token(), too, so that it ends with the beginning of a drain and not with its timeout:
    /// `while (auto line = co_await under(draining, client.read_line()))`.
    using drained_handler = std::function<task<void>(connection, std::stop_token)>;

    /// What happens to clients that rest (rest_place).
    struct rest_handlers {
        /// Called for a client that has sent something, with its connection and what rest() was
        /// given.
        std::function<task<void>(connection, rest_memo)> resumed;
        /// Called, on its worker, for one that ends without sending anything. Must not throw.
        std::function<void(worker&)> ended;
        /// A client that still takes what it was sent is not idle: its time begins anew, and if it
        /// takes nothing for `send_timeout`, or stays below the least rate, it is reset.
        /// `look_after` is how often that is checked, and how long a client keeps its buffers after
        /// its last bytes.
        std::chrono::milliseconds look_after = std::chrono::seconds(1);
        std::chrono::milliseconds idle_timeout = std::chrono::seconds(60);
        std::chrono::milliseconds send_timeout = std::chrono::seconds(60);
        std::uint64_t send_rate_min_bytes_per_s = 0;
    };

    /// Throws std::invalid_argument for options that make no sense.
    server(context& ctx, handler on_client, server_options options);
    server(context& ctx, drained_handler on_client, server_options options);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Listens there, too, for clients of another handler, which are otherwise treated as the
    /// others. Before run(): throws std::logic_error otherwise, std::invalid_argument for an empty
    /// list.
    void also(std::vector<endpoint> listen, handler on_client);

    /// Listens and serves until drain() is called, then drains: new clients are refused,
    /// drain_token() is requested, the rest may finish until the drain timeout has passed, then
    /// they are cancelled. Ends when the last handler has ended, however long one that does not
    /// heed this goes on (end_signals is for programs that must not wait for it). Only connections
    /// may be left then, for a second: the context aborts connections with unsent bytes. A stop
    /// request skips the waiting for clients at work. Throws std::system_error if it cannot listen.
    /// Once, in a routine of the context: std::logic_error otherwise. The task needs no server
    /// object.
    [[nodiscard]] task<void> run();
    /// Begins to drain; a second call cuts the waiting short. Any thread, also a signal's routine;
    /// idempotent.
    void drain() noexcept;

    /// Returns where handlers let their clients rest: <rota/io/resting.hpp>. Valid as long as they
    /// run.
    [[nodiscard]] rest_place resting() const noexcept;
    /// Sets what is called for resting clients. Before run(), for a handler that lets clients rest.
    void set_rest_handlers(rest_handlers handlers);

    /// Adds work beside the clients: `body`, a task or a function (see task_body), runs from when
    /// the server listens, as a routine of that name on a worker that the scheduler picks. It is
    /// stopped when the last handler has ended, so clients find it there until then, and run() ends
    /// after it. To stop it with the beginning of the drain, attach `under(s.drain_token(), ...)`;
    /// to have it finish what has been accepted first, tell it that no more comes:
    ///
    ///     s.attach([&] { return pack(&orders); }, {.finish = [&] { orders.close(); }});
    ///
    /// It may end before; an exception that ends it is reported, and the server goes on. Before
    /// run(): throws std::logic_error otherwise.
    template <task_body A>
    void attach(A&& body, attach_options options) {
        attach_task(rota::detail::as_void_task(std::forward<A>(body)), std::move(options));
    }
    template <task_body A>
    void attach(A&& body, std::string name = "background") {
        attach(std::forward<A>(body), attach_options{.name = std::move(name)});
    }

    /// Returns a token that is requested when the drain begins, for handlers that keep clients
    /// waiting. Any thread.
    [[nodiscard]] std::stop_token drain_token() const noexcept;
    /// Returns how many connections have an open descriptor. Any thread.
    [[nodiscard]] std::size_t connections() const noexcept;
    /// Returns where it listens, with the ports that the system chose, in the order of the options
    /// and then of also(). Blocks the calling thread until it listens; returns an empty list if it
    /// could not, or if the task of run() was destroyed before it began. Throws std::logic_error on
    /// a worker, which it would wait for.
    [[nodiscard]] std::vector<endpoint> listening() const;

private:
    void attach_task(task<void> body, attach_options options);

    friend void run_until_signalled(context& ctx, server& s);
    friend void run_until_signalled(context& ctx, server& s, end_signals& signals);

    std::shared_ptr<state> state_;
};

namespace detail {
/// Logs in one line what is being caught; returns 1.
[[nodiscard]] int exit_code_of_failure() noexcept;
} // namespace detail

/// Runs the rest of main(), anything that can be called, once, and returns its exit code: what
/// `program` returns if that is an int, else 0; or 1 if it throws, after saying why in one line of
/// the log.
template <class Program>
requires std::is_invocable_v<Program>
[[nodiscard]] int exit_code_of(Program&& program) noexcept {
    try {
        if constexpr (std::is_same_v<std::invoke_result_t<Program>, int>) {
            return std::invoke(std::forward<Program>(program));
        } else {
            std::invoke(std::forward<Program>(program));
            return 0;
        }
    } catch (...) {
        return detail::exit_code_of_failure();
    }
}

/// Does everything in one call, for a main() of few lines: makes a context, runs `on_client` for
/// each client that comes to `address` (as endpoint takes it), or wherever the options say, until
/// SIGINT, SIGTERM or SIGHUP, drains. Returns the exit code: 0, or 1 if it could not serve, after
/// saying why, and what to do about it, in one line of the log.
///
/// The drain waits for connected clients, silent ones too, as long as server_options::drain_timeout
/// says (10 s), and then cancels their handlers. A handler that must not be waited for that long
/// takes a std::stop_token beside the connection (server::drained_handler). The process ends with
/// exit code 1 if the end takes 5 s longer than the drain timeout, or than a second signal
/// (end_signals). One at a time in a process, of all calls that do so: a second one returns 1. A
/// program of several servers runs them on one context, drained by one end_signals.
[[nodiscard]] int serve(server::handler on_client, const std::string& address,
                        server_options options = {}, const context_options& context = {}) noexcept;
[[nodiscard]] int serve(server::drained_handler on_client, const std::string& address,
                        server_options options = {}, const context_options& context = {}) noexcept;

/// Runs `s` in the foreground: the first SIGINT, SIGTERM, or SIGHUP that is not ignored, drains it,
/// a second one cuts that short. Returns when the last handler has ended. A program that hangs then
/// is ended: 5 s after the drain timeout, or after a second signal, with exit code 1 (see
/// end_signals). Called by main(). Throws what server::run() throws, and what end_signals does.
void run_until_signalled(context& ctx, server& s);
/// Does the same with signals that the program itself waits for: then it ends in time, too, if the
/// context or anything else hangs.
void run_until_signalled(context& ctx, server& s, end_signals& signals);

} // namespace rota::io
