// How many clients are let in at once: server_options::max_connections.

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "support.hpp"

using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// Greets, and sends each line back, until the client ends.
task<void> greet_and_echo(connection client) {
    co_await client.write_line("hello");
    co_await echo(std::move(client));
}

void ask(const peer& p) {
    p.send("x");
    CHECK(p.receive_exactly(1) == "x");
}

} // namespace

TEST_CASE("who has no place is not accepted: he waits in the kernel, and costs no descriptor") {
    const combination how = each_combination();
    CAPTURE(how);
    const serving s(how, greet_and_echo,
                    [](context_options&, server_options& o) { o.max_connections = 3; });
    const std::size_t before = open_descriptors();
    std::vector<peer> clients;
    for (int i = 0; i < 40; ++i)
        clients.push_back(s.dial());
    for (std::size_t i = 0; i < clients.size(); ++i) {
        CHECK(clients[i].receive_exactly(6) == "hello\n"); // first come, first served
        // The answers prove that the server has looked around since the last one came.
        ask(clients[i]);
        ask(clients[i]);
        CHECK(open_descriptors() <= before + clients.size() - i + 3);
        clients[i].close();
    }
    CHECK(becomes([&] { return s.s.connections() == 0; }));
    CHECK(becomes([&] { return open_descriptors() <= before; }));
}

TEST_CASE("a free place is for whoever comes first, wherever the server listens") {
    const combination how = each_combination();
    CAPTURE(how);
    const serving s(how, greet_and_echo, [](context_options&, server_options& o) {
        o.max_connections = 1;
        o.listen.push_back(endpoint::ip("127.0.0.2", 0));
    });
    for (int round = 0; round < 3; ++round) {
        for (const endpoint& e : s.s.listening())
            CHECK(peer(e).receive_exactly(6) == "hello\n");
    }
}

TEST_CASE("clients of another handler come by an address of their own, and share all the rest") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    server s(ctx, greet_and_echo, {.listen = {endpoint::ip("127.0.0.1", 0)}});
    constexpr auto shout = [](connection client) -> task<void> {
        co_await client.write_line("HELLO");
        co_await echo(std::move(client));
    };
    CHECK_THROWS_AS(s.also({}, shout), std::invalid_argument);
    CHECK_THROWS_AS(s.also({endpoint()}, shout), std::invalid_argument);
    CHECK_THROWS_AS(s.also({endpoint::ip("127.0.0.1", 0)}, {}), std::invalid_argument);
    s.also({endpoint::ip("127.0.0.2", 0), endpoint::ip("127.0.0.3", 0)}, shout);
    const auto running = ctx.workers().spawn(s.run(), {.name = "server"});
    const std::vector<endpoint> where = s.listening();
    REQUIRE(where.size() == 3);
    CHECK_THROWS_AS(s.also({endpoint::ip("127.0.0.1", 0)}, shout), std::logic_error);
    {
        const peer first(where[0]);
        const peer second(where[1]);
        const peer third(where[2]);
        CHECK(first.receive_exactly(6) == "hello\n");
        CHECK(second.receive_exactly(6) == "HELLO\n");
        CHECK(third.receive_exactly(6) == "HELLO\n");
        ask(second);
        CHECK(s.connections() == 3);
    }
    s.drain();
    finish(running);
}

TEST_CASE("those who wait for a place when a drain begins are served once there is one") {
    const combination how = each_combination();
    CAPTURE(how);
    serving s(how, greet_and_echo,
              [](context_options&, server_options& o) { o.max_connections = 2; });
    std::vector<peer> clients;
    for (int i = 0; i < 20; ++i)
        clients.push_back(s.dial());
    CHECK(clients.front().receive_exactly(6) == "hello\n");
    s.s.drain();
    for (std::size_t i = 0; i < clients.size(); ++i) {
        if (i != 0)
            CHECK(clients[i].receive_exactly(6) == "hello\n");
        CHECK(s.s.connections() <= 2);
        clients[i].close();
    }
    s.runner->wait_stopped();
}
