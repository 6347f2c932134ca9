#include <rota/io/datagram_server.hpp>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/event.hpp>

#include "datagram_peer.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// One that runs until the end of the scope.
struct running {
    running(combination how, datagram_server::handler on_socket,
            datagram_server_options options = {}, std::size_t workers = 2)
        : ctx(options_for(how, workers)),
          s(ctx, std::move(on_socket), endpoint::ip("127.0.0.1", 0), options),
          runner(ctx.workers().spawn(s.run(), {.name = "server", .report_errors = false})),
          where(s.local().value()) {}
    ~running() {
        s.drain();
        s.drain();
        runner->wait_stopped();
    }
    context ctx;
    datagram_server s;
    rota::routine_ptr runner;
    endpoint where;
};

} // namespace

TEST_CASE("each worker has a socket, and senders are spread among them") {
    const combination how = each_combination();
    CAPTURE(how);
    std::mutex lock;
    std::set<const rota::worker*> used;
    running server(
        how,
        [&](datagram_socket socket) -> task<void> {
            while (auto batch = co_await socket.receive()) {
                {
                    const std::lock_guard guard(lock);
                    used.insert(&socket.home());
                }
                for (const datagram& d : *batch)
                    socket.queue(d.from(), d.bytes());
                co_await socket.flush();
            }
        },
        {}, 3);
    const std::size_t sockets = 3;
    // One of them gets all of a sender's; that each gets something takes some senders.
    for (int tries = 0; tries < 1000; ++tries) {
        const datagram_peer p;
        p.send(server.where, "x");
        CHECK(p.receive() == "x");
        const std::lock_guard guard(lock);
        if (used.size() == sockets)
            break;
    }
    CHECK(used.size() == sockets);
}

TEST_CASE("a server does not share its port with another") {
    const combination how = each_combination();
    CAPTURE(how);
    const running first(how, echo_datagrams);
    context ctx(options_for(how));
    datagram_server second(ctx, echo_datagrams, first.where);
    int error = 0;
    try {
        ctx.block_on(second.run());
    } catch (const std::system_error& e) {
        error = e.code().value();
    }
    CHECK(error == EADDRINUSE);
    CHECK(!second.local());
    const datagram_peer p; // the first one goes on
    p.send(first.where, "x");
    CHECK(p.receive() == "x");
}

TEST_CASE("a drain answers what has arrived, and ends") {
    const combination how = each_combination();
    CAPTURE(how);
    rota::event go_on;
    running server(how,
                   [&](datagram_socket socket) -> task<void> {
                       co_await go_on.wait();
                       co_await echo_datagrams(std::move(socket));
                   },
                   {.sockets = 1});
    const datagram_peer p;
    for (int i = 0; i < 100; ++i)
        p.send(server.where, std::to_string(i));
    server.s.drain();
    go_on.set();
    finish(server.runner);
    for (int i = 0; i < 100; ++i)
        CHECK(p.receive() == std::to_string(i));
    CHECK_NOTHROW(datagram_peer(server.where)); // the port is free
}

TEST_CASE("handlers that do not heed the drain are cancelled") {
    const combination how = each_combination();
    CAPTURE(how);
    const int way = GENERATE(0, 1, 2); // the timeout, a second drain, a stop
    rota::event never;
    std::atomic<int> cancelled = 0;
    const auto wait = [&](datagram_socket /*unused*/) -> task<void> {
        try {
            co_await never.wait();
        } catch (const rota::operation_cancelled&) {
            ++cancelled;
            throw;
        }
    };
    running server(how, wait, {.drain_timeout = way == 0 ? 20ms : std::chrono::milliseconds(1h)});
    if (way == 2) {
        server.runner->request_stop();
    } else {
        server.s.drain();
        if (way == 1)
            server.s.drain();
    }
    server.runner->wait_stopped();
    CHECK(cancelled == 2);
}

TEST_CASE("what ends every handler ends the server") {
    const combination how = each_combination();
    CAPTURE(how);
    running server(how, [](const datagram_socket&) -> task<void> {
        throw std::runtime_error("on purpose");
        co_return;
    });
    CHECK_THROWS_AS(finish(server.runner), std::runtime_error);
}

TEST_CASE("one datagram does not end the service") {
    const combination how = each_combination();
    CAPTURE(how);
    const std::size_t sockets = GENERATE(1, 2);
    std::atomic<int> begun = 0;
    running server(how,
                   [&](datagram_socket socket) -> task<void> {
                       ++begun;
                       while (auto batch = co_await socket.receive()) {
                           for (const datagram& d : *batch) {
                               if (d.bytes() == "poison")
                                   throw std::runtime_error("on purpose");
                               socket.queue(d.from(), d.bytes());
                           }
                           co_await socket.flush();
                       }
                   },
                   {.sockets = sockets});
    const int at_first = static_cast<int>(sockets);
    for (int round = 1; round <= 3 * at_first; ++round) {
        const datagram_peer p;
        p.send(server.where, "poison");
        while (begun < at_first + round)
            std::this_thread::yield();
    }
    for (int i = 0; i < 20; ++i) {
        const datagram_peer p;
        p.send(server.where, "x");
        CHECK(p.receive() == "x");
    }
    server.s.drain();
    finish(server.runner);
}

TEST_CASE("options that make no sense are refused") {
    context ctx(options_for(each_combination()));
    CHECK_THROWS_AS(datagram_server(ctx, {}, "127.0.0.1:0"), std::invalid_argument);
    CHECK_THROWS_AS(datagram_server(ctx, echo_datagrams, endpoint()), std::invalid_argument);
    CHECK_THROWS_AS(datagram_server(ctx, echo_datagrams, "127.0.0.1:0", {.drain_timeout = -1ms}),
                    std::invalid_argument);
    datagram_server unix_server(ctx, echo_datagrams, "unix:@x");
    CHECK_THROWS_AS(ctx.block_on(unix_server.run()), std::invalid_argument);
    CHECK(serve_datagrams(echo_datagrams, "nonsense", {}, options_for(each_combination())) == 1);
}

TEST_CASE("a worker cannot wait for a server that has not begun") {
    context ctx(options_for(each_combination(), 1));
    datagram_server s(ctx, echo_datagrams, "127.0.0.1:0");
    const auto ask = [&s]() -> task<void> {
        (void)s.local();
        co_return;
    };
    CHECK_THROWS_AS(ctx.block_on(ask), std::logic_error);
}
