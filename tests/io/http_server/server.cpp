#include <rota/http/server.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/event.hpp>
#include <rota/http/prometheus.hpp>
#include <rota/sleep.hpp>
#include <rota/when_all.hpp>

#include "becomes.hpp"
#include "server_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

const std::string close_after = "Connection: close\r\n";

/// One request after the other to the server of the test below, and the end of the connection.
void talk(const io::endpoint& address) {
    const client c(address);
    REQUIRE(c.connected());

    c.send(get("/plain"));
    CHECK(c.read_to("plain").starts_with("HTTP/1.1 200 OK\r\nDate: "));
    c.send(get("/slow") + get("/plain") + get("/slow") + get("/last"));
    const std::string answers = c.read_to("last");
    const std::size_t first = answers.find("\r\n\r\nslowHTTP");
    const std::size_t second = answers.find("\r\n\r\nplainHTTP", first);
    CHECK(answers.find("\r\n\r\nslowHTTP", second) != std::string::npos);

    const std::string body(200'000, 'b');
    c.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + body);
    const std::string echoed = c.read_to(body);
    CHECK(echoed.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(echoed.ends_with("\r\n\r\n" + body));

    c.send(get("/stream"));
    CHECK(c.read_to("0\r\n\r\n")
              .ends_with("\r\n\r\n5\r\npiece\r\n5\r\npiece\r\n5\r\npiece\r\n0\r\n\r\n"));
    c.send(get("/large"));
    CHECK(c.read_to("<large>").size() > 3'000'000);
    c.send(get("/peer", close_after));
    const std::string peer = c.read_all();
    CHECK(peer.find("\r\n\r\n127.0.0.1:") != std::string::npos);
    CHECK(peer.ends_with("<end>"));
}

TEST_CASE("requests over a socket") {
    const auto layout =
        GENERATE(io::topology::split, io::topology::per_worker, io::topology::dedicated);
    router routes;
    routes.get("/plain", [] { return response::fixed("plain"); })
        .get("/last", [] { return response::fixed("last"); })
        .get("/peer", [](const request& req) { return response::text(std::string(req.peer())); })
        .get("/slow",
             [](request&) -> task<response> {
                 co_await sleep_for(20ms);
                 co_return response::text("slow");
             })
        .get("/large", [] { return response::text(std::string(3'000'000, 'x') + "<large>"); })
        .post("/echo",
              [](request& req) -> task<response> {
                  std::string body = co_await req.text();
                  co_return response::text(std::move(body));
              })
        .get("/stream", [] {
            return response::stream([](body_writer& out) -> task<void> {
                for (int i = 0; i < 3; ++i) {
                    co_await out.write("piece");
                    co_await sleep_for(1ms);
                }
            });
        });
    io::context ctx(two_workers(layout));
    running s(ctx, std::move(routes));
    talk(s.address());
    s.drain_and_join();
    CHECK((*s).metrics().connections_open == 0);
    CHECK((*s).metrics().requests == 9);
}

TEST_CASE("a refused request is answered although the client is still sending") {
    io::context ctx(two_workers());
    running s(ctx, router());
    for (int round = 0; round < 20; ++round) {
        const client c(s.address());
        c.send("GET / HTTP/1.1\r\nHost : a\r\n\r\n");
        c.send(std::string(300'000, 'x'));
        const std::string answer = c.read_to("<never>");
        CHECK(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        CHECK(answer.ends_with("<end>"));
    }
}

TEST_CASE("half-close is answered, then the connection ends") {
    router routes;
    routes.get("/slow", [](request&) -> task<response> {
        co_await sleep_for(5ms);
        co_return response::text("slow");
    });
    io::context ctx(two_workers());
    running s(ctx, std::move(routes));
    const client c(s.address());
    c.send(get("/slow") + get("/slow"));
    c.finish();
    CHECK(c.read_all().ends_with("\r\n\r\nslow<end>"));
}

/// What a read gives, or that it is refused as the program's mistake.
task<std::string> read_beside(body_reader* from, std::atomic<bool>* refused) {
    try {
        const std::string_view piece = co_await from->read();
        co_return std::string(piece);
    } catch (const std::logic_error&) {
        *refused = true;
    }
    co_return "refused";
}

TEST_CASE("two coroutines that read one content are told so, and the first goes on") {
    std::atomic<bool> refused{false};
    router routes;
    routes.post("/", [&refused](request& r) -> task<response> {
        task<std::string> first = read_beside(&r.body(), &refused);
        task<std::string> second = read_beside(&r.body(), &refused);
        const auto both = co_await when_all(std::move(first), std::move(second));
        const std::string rest = co_await r.text();
        co_return response::text(std::get<1>(both) + ' ' + std::get<0>(both) + rest);
    });
    io::context ctx(two_workers());
    running s(ctx, std::move(routes));
    const client c(s.address());
    c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n" + close_after + "\r\n");
    CHECK(becomes([&] { return refused.load(); }));
    c.send("onetwo");
    CHECK(c.read_all().ends_with("\r\n\r\nrefused onetwo<end>"));
}

TEST_CASE("a drain lets what was begun finish, and refuses what is new") {
    event entered;
    event proceed;
    router routes;
    routes.get("/wait", [&](request&) -> task<response> {
        entered.set();
        co_await proceed.wait();
        co_return response::text("waited");
    });
    routes.get("/plain", [] { return response::fixed("plain"); });
    io::context ctx(two_workers());
    running s(ctx, std::move(routes));
    const client idle(s.address());
    idle.send(get("/plain"));
    idle.read_to("plain");
    const client half(s.address());
    half.send("GET /plain HTTP/1.1\r\nHo");
    const client busy(s.address());
    busy.send(get("/wait"));
    const auto wait_for = [](event& e) -> task<void> { co_await e.wait(); };
    ctx.block_on(wait_for(entered));
    // The half request has to be with the server before the drain: it was sent before the other one
    // came to its handler, but by another connection, perhaps on another worker.
    while ((*s).metrics().bytes_received < get("/plain").size() + get("/wait").size() + 22) {
        std::this_thread::yield();
    }
    (*s).drain();
    CHECK(idle.read_all() == "<end>");
    half.send("st: a\r\n\r\n");
    CHECK(half.read_all().ends_with("Connection: close\r\n\r\nplain<end>"));
    proceed.set();
    CHECK(busy.read_all().ends_with("Connection: close\r\n\r\nwaited<end>"));
    CHECK_FALSE(client(s.address()).connected());
}

TEST_CASE("a drain that takes too long cancels") {
    router routes;
    routes.get("/for-ever", [](request&) -> task<response> {
        co_await sleep_for(1h);
        co_return response::text("never");
    });
    io::context ctx(two_workers());
    server_options options;
    options.drain_timeout = 50ms;
    running s(ctx, std::move(routes), std::move(options));
    const client c(s.address());
    c.send(get("/for-ever"));
    while ((*s).metrics().requests_in_flight == 0)
        std::this_thread::yield();
    s.drain_and_join();
    CHECK((*s).connections() == 0);
    const std::string end = c.read_all();
    CHECK((end == "<end>" || end == "<error>"));
}

TEST_CASE("what is answered before the deadline of a drain arrives, though one behind it is cut") {
    const layout how = each_layout();
    CAPTURE(how);
    router routes;
    routes.get("/plain", [] { return response::text("plain"); })
        .get("/for-ever", [](request&) -> task<response> {
            co_await sleep_for(1h);
            co_return response::text("never");
        });
    io::context ctx(two_workers(how));
    server_options options;
    options.drain_timeout = 50ms;
    running s(ctx, std::move(routes), std::move(options));
    const client c(s.address());
    c.send(get("/plain") + get("/for-ever"));
    while ((*s).metrics().requests_in_flight == 0)
        std::this_thread::yield();
    s.drain_and_join();
    const std::string answers = c.read_all();
    CHECK(answers.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(answers.find("\r\n\r\nplain<") != std::string::npos);
}

TEST_CASE("rests forget neither how long a client has been idle nor its empty lines") {
    const bool until_late = GENERATE(true, false);
    CAPTURE(until_late);
    router routes;
    routes.get("/plain", [] { return response::fixed("plain"); });
    server_options options;
    options.limits.rest_after = 1ms;
    options.limits.idle_timeout = until_late ? 300ms : std::chrono::milliseconds(1h);
    options.limits.parser.leading_empty_lines_max = until_late ? 1'000'000 : 4;
    io::context ctx(two_workers());
    running s(ctx, std::move(routes), std::move(options));
    const client c(s.address());
    for (int round = 0; round < 2; ++round) { // a request renews both
        c.send(get("/plain"));
        CHECK(c.read_to("plain").ends_with("plain"));
        for (int line = 0; line < (until_late ? 0 : 4); ++line) {
            const std::uint64_t before = (*s).metrics().bytes_received;
            c.send("\r\n");
            while ((*s).metrics().bytes_received == before)
                std::this_thread::yield();
        }
    }
    std::atomic<bool> over{false};
    const std::jthread sender([&c, &over, until_late] {
        do { // until the server has closed the connection, however late that is
            c.try_send("\r\n");
            std::this_thread::sleep_for(20ms);
        } while (!over && until_late);
    });
    const std::string end = c.read_to("<never>");
    over = true;
    if (until_late)
        CHECK((end == "<end>" || end == "<error>")); // not "<nothing>": it may send for ever
    else
        CHECK(end.starts_with("HTTP/1.1 400 "));
}

TEST_CASE("a session that goes on with another client knows nothing of the one before") {
    constexpr std::size_t clients = 5;
    constexpr int requests = 4;
    router routes;
    routes.get("/peer",
               [](const request& r) { return response::text(std::string(r.peer()) + "!"); });
    server_options options;
    options.limits.requests_per_connection_max = requests;
    std::mutex lock;
    std::vector<std::string> logged;
    options.hooks.on_access = [&](const access_entry& entry) {
        const std::lock_guard guard(lock);
        logged.emplace_back(entry.peer);
    };
    io::context_options one_worker;
    one_worker.workers = 1;
    io::context ctx(one_worker);
    running s(ctx, std::move(routes), std::move(options));
    std::vector<std::unique_ptr<client>> all;
    for (std::size_t i = 0; i < clients; ++i)
        all.push_back(std::make_unique<client>(s.address()));
    std::vector<std::string> peers(clients);
    for (int round = 1; round <= requests; ++round) {
        for (std::size_t i = 0; i < clients; ++i) {
            all[i]->send(get("/peer"));
            const std::string answer = all[i]->read_to("!");
            const std::string peer = answer.substr(answer.find("\r\n\r\n") + 4);
            CHECK(peer.starts_with("127.0.0.1:"));
            if (round == 1)
                peers[i] = peer;
            CHECK(peer == peers[i]);
            CHECK((answer.find(close_after) != std::string::npos) == (round == requests));
        }
    }
    for (std::size_t i = 0; i < clients; ++i)
        CHECK(all[i]->read_all() == "<end>");
    s.drain_and_join();
    CHECK((*s).metrics().connections == clients);
    REQUIRE(logged.size() == clients * requests);
    for (std::size_t i = 0; i < logged.size(); ++i)
        CHECK(logged[i] + "!" == peers[i % clients]);
}

TEST_CASE("a client that leaves in the middle of an answer is in the log, with what it took") {
    constexpr std::size_t size = 64 << 20;
    const shared_body much(std::string(size, 'x'));
    router routes;
    routes.get("/much", [much] { return response::shared(much, "text/plain"); });
    std::promise<access_entry> logged;
    server_options options;
    options.hooks.on_access = [&logged](const access_entry& entry) { logged.set_value(entry); };
    io::context ctx({.workers = 1});
    running s(ctx, std::move(routes), std::move(options));
    {
        client c(s.address());
        c.send(get("/much"));
        (void)c.read_to("xxx");
    }
    const access_entry entry = logged.get_future().get();
    CHECK(entry.status == 200);
    CHECK(entry.bytes_sent > 0);
    CHECK(entry.bytes_sent < size);
    s.drain_and_join();
    CHECK((*s).metrics().responses_by_class[1] == 1);
}

TEST_CASE("of an answer whose client is gone before it begins nothing is counted") {
    const shared_body much(std::string(4 << 20, 'x'));
    router routes;
    routes.get("/much", [much](request& asked) -> task<response> {
        co_await asked.disconnected();
        co_return response::shared(much, "text/plain");
    });
    std::promise<access_entry> logged;
    server_options options;
    options.hooks.on_access = [&logged](const access_entry& entry) { logged.set_value(entry); };
    io::context ctx({.workers = 1});
    running s(ctx, std::move(routes), std::move(options));
    {
        const client c(s.address());
        c.send(get("/much"));
        c.end_by_reset();
    }
    CHECK(logged.get_future().get().bytes_sent == 0);
    s.drain_and_join();
    CHECK((*s).metrics().bytes_sent < 1'000);
}

TEST_CASE("a hook that throws takes no answer away") {
    router routes;
    routes.get("/", [] { return response::fixed("there"); });
    std::promise<std::string> told;
    server_options options;
    options.hooks.on_access = [](const access_entry&) { throw std::runtime_error("no disk"); };
    options.hooks.on_error = [&told](std::string_view what) { told.set_value(std::string(what)); };
    io::context ctx({.workers = 1});
    running s(ctx, std::move(routes), std::move(options));
    const client c(s.address());
    c.send(get("/", close_after));
    CHECK(c.read_all().ends_with("there<end>"));
    CHECK(told.get_future().get() == "on_access threw: no disk");
}

TEST_CASE("a page of figures by route is one line") {
    router routes;
    routes.get("/hello/{name}", [] { return response::fixed("hello"); })
        .get("/waits/{for}",
             [](request&) -> task<response> {
                 co_await sleep_for(1ms);
                 co_return response(204);
             })
        .get("/metrics", prometheus());
    io::context ctx(two_workers());
    running s(ctx, std::move(routes));
    for (const char* path : {"/hello/ann", "/hello/bob", "/waits/a", "/hello"}) {
        const client c(s.address());
        c.send(get(path, close_after));
        CHECK(c.read_all().starts_with("HTTP/1.1 "));
    }
    const client c(s.address());
    c.send(get("/metrics", close_after));
    const std::string page = c.read_all();
    CHECK(page.find("Content-Type: text/plain; version=0.0.4") != std::string::npos);
    const std::string of = "\nrota_http_route_requests_total{method=";
    CHECK(page.find(of + R"("GET",route="/hello/{name}",class="2xx"} 2)") != std::string::npos);
    CHECK(page.find(of + R"("GET",route="/waits/{for}",class="2xx"} 1)") != std::string::npos);
    CHECK(page.find(of + R"("none",route="none",class="4xx"} 1)") != std::string::npos);
    CHECK(page.find("ann") == std::string::npos);
}

TEST_CASE("many clients at once") {
    router routes;
    routes.get("/hello/{name}", [](request& req) -> task<response> {
        co_await sleep_for(1ms);
        co_return response::text("hello " + std::string(req.param("name")) + "!");
    });
    io::context ctx(two_workers());
    running s(ctx, std::move(routes));
    constexpr int clients = 200;
    std::vector<std::unique_ptr<client>> all;
    for (int i = 0; i < clients; ++i)
        all.push_back(std::make_unique<client>(s.address()));
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < clients; ++i)
            all[i]->send(get("/hello/" + std::to_string(i)));
        for (int i = 0; i < clients; ++i) {
            REQUIRE(all[i]->read_to("!").ends_with("\r\n\r\nhello " + std::to_string(i) + "!"));
        }
    }
    CHECK((*s).metrics().connections == clients);
    all.clear();
    s.drain_and_join();
    CHECK((*s).metrics().requests == 5 * clients);
    CHECK((*s).metrics().connections_open == 0);
}

} // namespace
} // namespace rota::http
