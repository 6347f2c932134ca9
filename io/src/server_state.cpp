#include "server_state.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <rota/errors.hpp>
#include <rota/io/log.hpp>

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
        connection client = adopt(s->ctx, std::move(socket), assignment(home),
                                  [s, &home] { s->client_gone(home); });
        ++s->desk_of(home).connections;
        return client;
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
            handling = rota::detail::returned((*by)(std::move(client)));
        } else {
            handling = rota::detail::returned(s->rests.resumed(std::move(client), memo));
        }
        co_await std::move(handling);
    } catch (const timed_out&) {
        throw; // the program's own
    } catch (const std::system_error& e) {
        if (!peer_has_gone(e))
            throw;
        log::debug("client#{}: {}", self.id(), e.what());
    }
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

void server::state::cancel(const std::vector<routine_ptr>& acceptors) {
    for (const routine_ptr& a : acceptors)
        a->request_stop();
    cancelling.request_stop();
    end_rests();
}

} // namespace rota::io
