#pragma once

// A client and a server of ours, with the test between them.

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <rota/inline_scheduler.hpp>
#include <rota/io/tls/stream.hpp>
#include <rota/routine.hpp>

#include "made_files.hpp"
#include "pipe.hpp"

namespace rota::io::tls::test {

/// What an end does behind its handshake.
using script = std::function<task<void>(io::tls::stream*)>;

class both_ends {
public:
    both_ends(context& server_side, context& client_side, const std::string& host)
        : server(server_pipe, server_side), client(client_pipe, client_side, host) {}
    both_ends(const both_ends&) = delete;
    both_ends& operator=(const both_ends&) = delete;
    ~both_ends() {
        for (const routine_ptr& each : {server_routine, client_routine}) {
            if (each)
                each->request_stop();
        }
        scheduler.run();
    }

    /// Starts both ends; `carry()` does the rest.
    void start(script on_server, script on_client) {
        on_server_ = std::move(on_server);
        on_client_ = std::move(on_client);
        server_routine = scheduler.spawn(run(&server, &on_server_), {.name = "server"});
        client_routine = scheduler.spawn(run(&client, &on_client_), {.name = "client"});
    }
    void carry(std::size_t piece = 1'000'000) {
        test::carry(client_pipe, server_pipe, piece, [this] { scheduler.run(); });
    }
    /// As start(), carries all, and rethrows what ended an end.
    void talk(script on_server, script on_client, std::size_t piece = 1'000'000) {
        start(std::move(on_server), std::move(on_client));
        carry(piece);
        for (const routine_ptr& each : {client_routine, server_routine}) {
            if (each->state() != routine_state::stopped)
                throw std::logic_error(std::string(each->name()) + " still waits");
            if (each->error())
                std::rethrow_exception(each->error());
        }
    }
    /// What has ended an end, if it was TLS; throws what else it was.
    static std::optional<failure::kind> failure_of(const routine_ptr& r) {
        if (r->state() != routine_state::stopped || !r->error())
            return std::nullopt;
        try {
            std::rethrow_exception(r->error());
        } catch (const failure& f) {
            return f.what_kind();
        }
    }

private:
    static task<void> run(io::tls::stream* end, const script* then) {
        co_await end->handshake();
        if (*then)
            co_await (*then)(end);
    }
    script on_server_;
    script on_client_;

public:
    pipe_end server_pipe;
    pipe_end client_pipe;
    inline_scheduler scheduler{[](const routine&, const std::exception_ptr&) {}};
    io::tls::stream server;
    io::tls::stream client;
    routine_ptr server_routine;
    routine_ptr client_routine;
};

} // namespace rota::io::tls::test
