#include <rota/http/request_limits.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/sleep.hpp>

#include "answered.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::ask;

/// Two connections with a handler that waits, behind a limit.
struct two_clients {
    explicit two_clients(const concurrency_limit_options& options) {
        routes.use(concurrency_limit(options));
        routes.get("/", [this](request&) -> task<response> {
            ++entered;
            co_await open.wait();
            co_return response::text("in\n");
        });
        routes.get("/stream", [this](request&) -> task<response> {
            co_return response::stream([this](body_writer& to) { return write_late(&to); });
        });
        for (auto [client, routine] : {std::pair(&one, &first), std::pair(&two, &second)})
            *routine = scheduler.spawn(serve_connection(client, &routes, &limits, {}), {});
    }
    ~two_clients() {
        for (const auto& each : {first, second})
            each->request_stop();
        scheduler.run();
    }
    void ask(test::memory_stream& from, const std::string& what = "/") {
        from.send("GET " + what + " HTTP/1.1\r\nHost: a\r\n\r\n");
        scheduler.run();
    }
    task<void> write_late(body_writer* to) {
        co_await open.wait();
        co_await to->write("late\n");
    }

    event open;
    int entered = 0;
    router routes;
    server_limits limits;
    inline_scheduler scheduler;
    test::memory_stream one{scheduler};
    test::memory_stream two{scheduler};
    routine_ptr first;
    routine_ptr second;
};

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

TEST_CASE("a limit of no time, or a status that is no failure, is refused") {
    for (const auto limit : {0ms, -1ms})
        CHECK_THROWS_AS(time_limit(limit), std::invalid_argument);
    for (const int status : {0, 200, 302, 399, 600})
        CHECK_THROWS_AS(time_limit(1ms, status), std::invalid_argument);
    for (const int status : {400, 503, 599})
        CHECK_NOTHROW(time_limit(1ms, status));
    CHECK_NOTHROW(time_limit(std::chrono::hours::max()));
    CHECK_NOTHROW(time_limit(500us));
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
    two_clients s({.at_once = 1, .waiting_max = 0, .retry_after = 7s});
    s.ask(s.one);
    s.ask(s.two);
    const test::answered refused{s.two.receive()};
    CHECK(refused.status() == "503");
    CHECK(refused.field("Retry-After") == "7");
    s.open.set();
    s.scheduler.run();
    CHECK(s.one.receive().ends_with("\r\nin\n"));
    s.ask(s.two);
    CHECK(s.two.receive().ends_with("\r\nin\n")); // there is room again
}

TEST_CASE("what a stream writes takes nobody's place") {
    two_clients s({.at_once = 1, .waiting_max = 0});
    s.ask(s.one, "/stream");
    s.ask(s.two);
    CHECK(s.entered == 1);
    s.open.set();
    s.scheduler.run();
    CHECK(s.one.receive().contains("late\n"));
    CHECK(s.two.receive().ends_with("\r\nin\n"));
}

TEST_CASE("one that waits has its turn, or is told after a while") {
    two_clients s({.at_once = 1, .waiting_max = 1, .patience = 100ms});
    s.ask(s.one);
    s.ask(s.two);
    CHECK(s.two.receive().empty());
    s.scheduler.advance(100ms);
    CHECK(test::answered{s.two.receive()}.status() == "503");
    s.ask(s.two);
    s.open.set();
    s.scheduler.run();
    CHECK(s.one.receive().ends_with("\r\nin\n"));
    CHECK(s.two.receive().ends_with("\r\nin\n"));
    CHECK_THROWS_AS(concurrency_limit({.at_once = 0}), std::invalid_argument);
    CHECK_THROWS_AS(concurrency_limit({.patience = -1ms}), std::invalid_argument);
    CHECK_THROWS_AS(concurrency_limit({.retry_after = -1s}), std::invalid_argument);
    CHECK_NOTHROW(concurrency_limit({.patience = 0ms, .retry_after = 0s}));
}

TEST_CASE("one that leaves while it waits leaves its place to another") {
    two_clients s({.at_once = 1, .waiting_max = 1, .patience = 1h});
    test::memory_stream three(s.scheduler);
    const routine_ptr third =
        s.scheduler.spawn(serve_connection(&three, &s.routes, &s.limits, {}), {});
    s.ask(s.one);
    s.ask(s.two);
    s.ask(three);
    CHECK(test::answered{three.receive()}.status() == "503");
    s.two.reset();
    s.scheduler.run();
    s.ask(three);
    CHECK(three.receive().empty()); // it waits
    CHECK(s.entered == 1);
    s.open.set();
    s.scheduler.run();
    CHECK(s.one.receive().ends_with("\r\nin\n"));
    CHECK(three.receive().ends_with("\r\nin\n"));
    CHECK(s.entered == 2);
    third->request_stop();
    s.scheduler.run();
}

TEST_CASE("one that has only ended its side waits on, and counts") {
    two_clients s({.at_once = 1, .waiting_max = 2, .patience = 1h});
    test::memory_stream three(s.scheduler);
    test::memory_stream four(s.scheduler);
    std::vector<routine_ptr> others;
    for (test::memory_stream* const each : {&three, &four})
        others.push_back(s.scheduler.spawn(serve_connection(each, &s.routes, &s.limits, {}), {}));
    s.ask(s.one);
    s.ask(s.two);
    s.two.finish();
    s.scheduler.run();
    s.ask(three);
    CHECK(three.receive().empty());
    s.ask(four);
    CHECK(test::answered{four.receive()}.status() == "503");
    s.open.set(); // then they come in one by one
    s.open.reset();
    s.scheduler.run();
    CHECK(s.one.receive().ends_with("\r\nin\n"));
    s.open.set();
    s.open.reset();
    s.scheduler.run();
    CHECK(s.two.receive().ends_with("\r\nin\n"));
    CHECK(three.receive().empty());
    s.open.set();
    s.scheduler.run();
    CHECK(three.receive().ends_with("\r\nin\n"));
    for (const routine_ptr& each : others)
        each->request_stop();
    s.scheduler.run();
}

} // namespace rota::http
