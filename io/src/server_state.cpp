#include "server_state.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <spdlog/spdlog.h>

#include "access.hpp"
#include "worker_io.hpp"

namespace rota::io {
namespace {

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

/// Passes a stop request on.
struct request_routine_stop {
    routine* target;
    void operator()() const noexcept { target->request_stop(); }
};
using routine_link = std::stop_callback<request_routine_stop>;

/// The accepted client's connection, which gives its place back at its end, or now if it cannot be.
connection open_client(const std::shared_ptr<server::state>& s, accepted_socket socket,
                       worker& home) {
    try {
        return adopt(s->ctx, std::move(socket), assignment(home), [s] { s->client_gone(); });
    } catch (...) {
        s->client_gone();
        throw;
    }
}

/// In the frame of a client's routine, around all that its handler uses.
class served_client {
public:
    explicit served_client(server::state& s) noexcept : state_(s) {}
    served_client(const served_client&) = delete;
    served_client& operator=(const served_client&) = delete;
    ~served_client() { state_.served.leave(); }

private:
    server::state& state_;
};

/// One client: the handler, and what becomes of its exceptions. Without a `socket` it has rested.
task<void> serve_client(std::shared_ptr<server::state> s, std::optional<accepted_socket> socket,
                        connection client, rest_memo memo, const server::handler* by) {
    const served_client inside(*s);
    routine& self = co_await current_routine;
    const routine_link cancel(s->cancelling.get_token(), request_routine_stop{&self});
    if (socket)
        client = open_client(s, std::move(*socket), self.home());
    try {
        task<void> handling;
        if (socket) {
            handling = (*by)(std::move(client));
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

task<void> end_rests_of(std::shared_ptr<server::state> s, worker_io* io,
                        std::chrono::milliseconds grace) {
    io->end_rests_by(*s, io->home.turn_time() + grace);
    co_return;
}

} // namespace

void server::state::start(std::optional<accepted_socket> socket, connection client, rest_memo memo,
                          worker* on, const handler* by) {
    served.enter_now();
    try {
        ctx.workers().spawn(
            serve_client(shared_from_this(), std::move(socket), std::move(client), memo, by),
            {.name = "client", .on = on});
    } catch (...) {
        served.leave();
        throw;
    }
}

void server::state::rest(connection client, std::chrono::steady_clock::time_point until,
                         rest_memo memo) {
    const auto now = client.home().turn_time();
    if (draining.stop_requested())
        until = std::min(until, now + options.rest_grace);
    if (cancelling.stop_requested())
        until = now;
    served.enter_now(); // left in rest_over()
    connection_access::take(client)->rest(*this, until, memo);
}

void server::state::rest_over(connection_core& c) noexcept {
    const std::shared_ptr<state> keep = shared_from_this(); // the connection may be the last to
    worker& home = c.home();
    const rest_memo memo = c.memo();
    bool resumed = false;
    connection client(&c);
    if (!client.buffered().empty()) {
        try {
            start(std::nullopt, std::move(client), memo, &home, nullptr);
            resumed = true;
        } catch (const std::exception& e) { // no memory: it is this client that goes
            spdlog::error("a client is given up: {}", e.what());
        }
    }
    if (!resumed)
        rests.ended(home);
    served.leave(); // its routine, if there is one, has entered by itself
}

void server::state::end_rests_within(std::chrono::milliseconds grace) {
    for (std::size_t i = 0; i < runtime::max_workers; ++i) {
        worker* const w = ctx.workers().worker_at(i);
        if (w == nullptr)
            continue;
        try {
            ctx.workers().spawn(
                end_rests_of(shared_from_this(), &context_access::io_of(ctx, *w), grace),
                {.name = "end rests", .on = w});
        } catch (const std::logic_error&) {
            // The worker has ended, so it has no connections.
        } catch (const std::exception& e) {
            spdlog::error("clients that rest are not told of the end: {}", e.what());
        }
    }
}

void server::state::cancel(const std::vector<routine_ptr>& acceptors) {
    for (const routine_ptr& a : acceptors)
        a->request_stop();
    cancelling.request_stop();
    end_rests_within(std::chrono::milliseconds(0));
}

} // namespace rota::io
