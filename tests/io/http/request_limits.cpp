#include <rota/http/request_limits.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/sleep.hpp>

#include "answered.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::ask;

} // namespace

TEST_CASE("handlers that are late are cancelled, and their clients told") {
    bool cancelled = false;
    router routes;
    routes.use(time_limit(100ms, 504));
    routes
        .get("/slow",
             [&cancelled](request&) -> task<response> {
                 try {
                     co_await sleep_for(1h);
                 } catch (const operation_cancelled&) {
                     cancelled = true;
                     throw;
                 }
                 co_return response(204);
             })
        .get("/fast", [] { return response::text("x"); });
    test::session_driver s(std::move(routes));
    CHECK(ask(s, "GET /fast").status() == "200");
    CHECK(ask(s, "GET /slow").text.empty());
    s.advance(100ms);
    const test::answered late{s.receive()};
    CHECK(late.status() == "504");
    CHECK(cancelled);
    CHECK(ask(s, "GET /fast").status() == "200"); // on the same connection
}

TEST_CASE("content beyond a route's limit is a 413 at once") {
    router routes;
    routes.use(body_limit(10));
    routes.post("/", [](request& r) -> task<response> {
        std::string text = co_await r.text();
        co_return response::text(std::move(text));
    });
    test::session_driver s(std::move(routes));
    CHECK(s.exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789")
              .ends_with("\r\n0123456789"));
    CHECK(ask(s, "POST /", "Content-Length: 11\r\n").status() == "413");
}

TEST_CASE("so many at once, some wait, others are refused") {
    event open;
    router routes;
    routes.use(concurrency_limit({.at_once = 1, .waiting_max = 0, .retry_after = 7s}));
    routes.get("/", [&open](request&) -> task<response> {
        co_await open.wait();
        co_return response::text("in\n");
    });
    const router& shared = routes;
    server_limits limits;
    inline_scheduler scheduler;
    test::memory_stream one{scheduler};
    test::memory_stream two{scheduler};
    auto first = scheduler.spawn(serve_connection(&one, &shared, &limits, {}), {.name = "one"});
    auto second = scheduler.spawn(serve_connection(&two, &shared, &limits, {}), {.name = "two"});
    const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    one.send(get);
    scheduler.run();
    two.send(get);
    scheduler.run();
    const test::answered refused{two.receive()};
    CHECK(refused.status() == "503");
    CHECK(refused.field("Retry-After") == "7");
    open.set();
    scheduler.run();
    CHECK(one.receive().ends_with("\r\nin\n"));
    two.send(get);
    scheduler.run();
    CHECK(two.receive().ends_with("\r\nin\n")); // there is room again
    for (const auto& each : {first, second})
        each->request_stop();
    scheduler.run();
}

TEST_CASE("one that waits has its turn, or is told after a while") {
    event open;
    router routes;
    routes.use(concurrency_limit({.at_once = 1, .waiting_max = 1, .patience = 100ms}));
    routes.get("/", [&open](request&) -> task<response> {
        co_await open.wait();
        co_return response::text("in\n");
    });
    const router& shared = routes;
    server_limits limits;
    inline_scheduler scheduler;
    test::memory_stream one{scheduler};
    test::memory_stream two{scheduler};
    auto first = scheduler.spawn(serve_connection(&one, &shared, &limits, {}), {.name = "one"});
    auto second = scheduler.spawn(serve_connection(&two, &shared, &limits, {}), {.name = "two"});
    const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    one.send(get);
    scheduler.run();
    two.send(get);
    scheduler.run();
    CHECK(two.receive().empty());
    scheduler.advance(100ms);
    CHECK(test::answered{two.receive()}.status() == "503");
    two.send(get);
    scheduler.run();
    open.set();
    scheduler.run();
    CHECK(one.receive().ends_with("\r\nin\n"));
    CHECK(two.receive().ends_with("\r\nin\n"));
    for (const auto& each : {first, second})
        each->request_stop();
    scheduler.run();
    CHECK_THROWS_AS(concurrency_limit({.at_once = 0}), std::invalid_argument);
}

} // namespace rota::http
