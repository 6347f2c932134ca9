// Connections that handlers take over, in whole servers, on every backend and topology.

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/server.hpp>

#include "server_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view upgrade_offer =
    " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";

task<void> echo_on(takeover& client) {
    for (;;) {
        const auto line = co_await client.read_line();
        if (!line || *line == "end")
            co_return;
        if (*line == "throw")
            throw std::runtime_error("as told");
        co_await client.write_line(*line);
    }
}

/// Says goodbye when the server drains, and then waits for the client to answer that.
task<void> polite(takeover& client) {
    co_await client.write("hi\n");
    try {
        task<bool> waiting = client.fill();
        const bool more = co_await waiting.under(client.draining());
        if (more)
            co_return;
    } catch (const operation_cancelled&) {
        if (!client.draining().stop_requested())
            throw;
    }
    co_await client.write("bye\n");
    (void)co_await client.fill();
}

router routes(std::atomic<int>* ended) {
    router made;
    made.get("/echo", [] { return response::upgrade("echo", echo_on); })
        .get("/alone", [] { return response::upgrade("echo", echo_on).forget_request(); })
        .get("/polite", [] { return response::upgrade("echo", polite); })
        .get("/deaf",
             [ended] {
                 return response::upgrade("echo", [ended](takeover& client) -> task<void> {
                     struct at_end {
                         std::atomic<int>* count;
                         ~at_end() { count->fetch_add(1); }
                     } counted{ended};
                     co_await client.write("here\n");
                     bool more = true;
                     while (more) {
                         client.consume(client.buffered().size());
                         more = co_await client.fill();
                     }
                 });
             })
        .connect([](const request&) { return response::tunnel(echo_on); });
    return made;
}

/// Until as many connections are taken over.
void await_taken(const server& s, std::uint64_t count) {
    while (s.metrics().connections_taken_over != count)
        std::this_thread::yield();
}

std::string ask(std::string_view path) {
    return "GET " + std::string(path) + std::string(upgrade_offer);
}

} // namespace

TEST_CASE("taken over on every backend", "[server]") {
    std::atomic<int> ended{0};
    io::context ctx(two_workers(each_layout()));
    running s(ctx, routes(&ended));
    {
        const client one(s.address());
        one.send(ask("/echo") + "behind\n");
        CHECK(one.read_to("behind\n").starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
        await_taken(*s, 1);
        CHECK((*s).connections() == 1);
        std::jthread sending([&] { one.send(std::string(60'000, 'y') + "\n"); });
        CHECK(one.read_to("y\n").size() == 60'001);
        one.send("end\nGET / HTTP/1.1\r\n\r\n");
        CHECK(one.read_all() == "<end>");
    }
    {
        const client tunnel(s.address());
        tunnel.send("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\nthrough\n");
        const std::string out = tunnel.read_to("through\n");
        CHECK(out.starts_with("HTTP/1.1 200 OK\r\n"));
        CHECK(out.find("Content-Length") == std::string::npos);
        CHECK(out.find("Transfer-Encoding") == std::string::npos);
        tunnel.finish();
        CHECK(tunnel.read_all() == "<end>");
    }
    await_taken(*s, 0);
    { // goes without a word, and with a reset
        const client gone(s.address());
        gone.send(ask("/deaf"));
        CHECK(gone.read_to("here\n").ends_with("here\n"));
        await_taken(*s, 1);
    }
    await_taken(*s, 0);
    CHECK(ended == 1);
    s.drain_and_join();
    CHECK((*s).metrics().connections_open == 0);
}

TEST_CASE("a taker that has forgotten its request is served without the session", "[server]") {
    std::atomic<int> ended{0};
    std::mutex lock;
    std::string reported;
    io::context ctx(two_workers(each_layout()));
    server_options options;
    options.hooks.on_error = [&](std::string_view message) {
        const std::lock_guard guard(lock);
        reported += message;
    };
    running s(ctx, routes(&ended), std::move(options));
    {
        const client one(s.address());
        one.send(ask("/alone") + "behind\n");
        CHECK(one.read_to("behind\n").starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
        await_taken(*s, 1);
        CHECK((*s).metrics().connections_open == 1);
        std::jthread sending([&] { one.send(std::string(60'000, 'y') + "\n"); });
        CHECK(one.read_to("y\n").size() == 60'001);
        one.send("end\nGET / HTTP/1.1\r\n\r\n");
        CHECK(one.read_all() == "<end>");
    }
    await_taken(*s, 0);
    {
        const client one(s.address());
        one.send(ask("/alone?why") + "throw\n");
        CHECK(one.read_all().ends_with("<error>"));
    }
    const client last(s.address());
    last.send(ask("/alone") + "here\n");
    CHECK(last.read_to("here\n").ends_with("here\n"));
    std::jthread draining([&] { s.drain_and_join(); });
    last.send("end\n");
    CHECK(last.read_all() == "<end>");
    draining.join();
    CHECK(reported == "handler of GET /alone threw: as told");
    CHECK((*s).metrics().connections_open == 0);
}

TEST_CASE("the drain asks those that have taken over, and waits for them", "[server]") {
    std::atomic<int> ended{0};
    io::context ctx(two_workers(each_layout()));
    running s(ctx, routes(&ended));
    const client one(s.address());
    one.send(ask("/polite"));
    CHECK(one.read_to("hi\n").ends_with("hi\n"));
    (*s).drain();
    CHECK(one.read_to("bye\n") == "bye\n");
    CHECK((*s).connections() == 1);
    one.finish();
    CHECK(one.read_all() == "<end>");
    s.drain_and_join();
}

TEST_CASE("those that go on are ended when the drain is over", "[server]") {
    std::atomic<int> ended{0};
    io::context ctx(two_workers(each_layout()));
    server_options options;
    options.drain_timeout = 50ms;
    running s(ctx, routes(&ended), std::move(options));
    const client one(s.address());
    one.send(ask("/deaf"));
    CHECK(one.read_to("here\n").ends_with("here\n"));
    s.drain_and_join();
    CHECK(ended == 1);
    CHECK((*s).metrics().connections_taken_over == 0);
    CHECK((*s).metrics().connections_open == 0);
    const std::string end = one.read_all();
    CHECK((end == "<end>" || end == "<error>"));
}

} // namespace rota::http
