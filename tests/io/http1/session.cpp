#include "session.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>
#include <rota/sleep.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::session_driver;

const std::string get_plain = "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string plain_answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                 "Content-Length: 5\r\n\r\nplain";

std::string get_with(std::string_view path, std::string_view more = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(more) + "\r\n";
}

std::string text_answer(std::string_view text, std::string_view more = "") {
    return "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " +
           std::to_string(text.size()) + "\r\n" + std::string(more) + "\r\n" + std::string(text);
}

router usual_routes() {
    router routes;
    routes.get("/plain", [] { return response::fixed("plain"); })
        .get("/hello/{name}",
             [](request& req) -> task<response> {
                 co_return response::text("hello " + std::string(req.param("name")));
             })
        .get("/slow",
             [](request& req) -> task<response> {
                 co_await sleep_for(1s);
                 co_return response::text("slow " + std::string(req.header("host").value()));
             })
        .get("/throw", []() -> response { throw std::runtime_error("secret"); })
        .get("/refuse", []() -> response { throw http_error(409, "not now"); })
        .get("/close", [] { return response::text("x").close(); })
        .post("/unread", [] { return response::text("done"); })
        .post("/whole",
              [](const request&, std::string body) { return response::text(std::move(body)); });
    return routes;
}

TEST_CASE("a request is answered and the connection goes on") {
    session_driver s(usual_routes());
    CHECK(s.exchange(get_plain) == plain_answer);
    CHECK(s.exchange(get_with("/hello/ann")) == text_answer("hello ann"));
    CHECK(s.exchange(get_plain) == plain_answer);
    CHECK(s.stream().being_read());
    s.finish();
    CHECK(s.ended_well());
    CHECK(s.receive().empty());
    const metrics_snapshot seen = s.metrics();
    CHECK(seen.connections == 1);
    CHECK(seen.connections_open == 0);
    CHECK(seen.requests == 3);
    CHECK(seen.responses_by_class[1] == 3);
    CHECK(seen.bytes_received == 2 * get_plain.size() + get_with("/hello/ann").size());
    CHECK(s.log() ==
          std::vector<std::string>{"GET /plain 200", "GET /hello/ann 200", "GET /plain 200"});
}

TEST_CASE("a request that is repeated goes the same way again, and another its own") {
    router routes = usual_routes();
    routes.not_found([](const request& r) { return response::text("no " + std::string(r.path())); })
        .get("/pattern/{a}/{b...}", [](const request& r) {
            return response::text(std::string(r.route()) + " " + std::string(r.param("a")) + " " +
                                  std::string(r.param("b")));
        });
    session_driver s(std::move(routes));
    const auto is = [&s](const std::string& request, const std::string& text) {
        const std::string answer = s.exchange(request);
        CAPTURE(request, answer);
        CHECK(answer.substr(answer.find("\r\n\r\n") + 4) == text);
    };
    const std::string long_field = "X: " + std::string(600, 'x') + "\r\n";
    const std::string whole = "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n";
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 4; ++i)
            is(get_plain, "plain");
        is(get_with("/hello/bob", long_field), "hello bob"); // which is not remembered
        is(get_plain, "plain");
        for (int i = 0; i < 3; ++i)
            is(get_with("/hello/ann"), "hello ann");
        for (int i = 0; i < 3; ++i)
            is(get_with("/pattern/x/y/z"), "/pattern/{a}/{b...} x y/z");
        for (int i = 0; i < 3; ++i)
            is(get_with("/pattern/%41/%2Fz"), "/pattern/{a}/{b...} A /z");
        for (int i = 0; i < 3; ++i)
            is(get_with("/nowhere"), "no /nowhere");
        is(whole + "ab", "ab");
        is(whole + "cd", "cd");
        is(whole + "ef", "ef");
        for (int i = 0; i < 3; ++i)
            is("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "");
        for (int i = 0; i < 3; ++i)
            is("DELETE /plain HTTP/1.1\r\nHost: a\r\n\r\n", "Method Not Allowed\n");
    }
}

TEST_CASE("a request may come in any pieces") {
    const std::string bytes = get_with("/hello/bob", "X: y\r\n");
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        session_driver s(usual_routes());
        CHECK(s.exchange(std::string_view(bytes).substr(0, cut)).empty());
        REQUIRE(s.exchange(std::string_view(bytes).substr(cut)) == text_answer("hello bob"));
    }
}

TEST_CASE("pipelined requests are answered in order and together") {
    session_driver s(usual_routes());
    std::string requests;
    std::string answers;
    for (int i = 0; i < 20; ++i) {
        requests += get_plain + get_with("/hello/" + std::to_string(i));
        answers += plain_answer + text_answer("hello " + std::to_string(i));
    }
    CHECK(s.exchange(requests) == answers);
    const std::size_t writes = s.stream().writes();
    CHECK(s.exchange(get_plain + get_plain + get_plain) ==
          plain_answer + plain_answer + plain_answer);
    CHECK(s.stream().writes() == writes + 1);
}

TEST_CASE("a handler that waits holds back what comes behind it, and no answer before it") {
    session_driver s(usual_routes());
    CHECK(s.exchange(get_plain + get_with("/slow") + get_with("/slow") + get_plain) ==
          plain_answer);
    s.advance(1s);
    CHECK(s.receive() == text_answer("slow a"));
    s.advance(1s);
    CHECK(s.receive() == text_answer("slow a") + plain_answer);

    s.stream().send(get_plain + get_with("/slow"));
    s.stream().set_room(10);
    s.scheduler().run();
    CHECK(s.metrics().requests_in_flight == 0); // there is no room for what is before it
    CHECK(s.receive() == plain_answer);
    CHECK(s.metrics().requests_in_flight == 1);
    s.advance(1s);
    CHECK(s.receive() == text_answer("slow a"));
}

TEST_CASE("errors of handlers") {
    session_driver s(usual_routes());
    CHECK(s.exchange(get_with("/throw")) ==
          "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain; charset=utf-8\r\n"
          "Content-Length: 22\r\n\r\nInternal Server Error\n");
    CHECK(s.errors() == std::vector<std::string>{"handler of GET /throw threw: secret"});
    CHECK(s.exchange(get_with("/refuse")).ends_with("\r\n\r\nConflict: not now\n"));
    CHECK(s.errors().size() == 1);
    CHECK(s.exchange(get_with("/none")) ==
          "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
          "Content-Length: 10\r\n\r\nNot Found\n");
    CHECK(s.exchange("POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi") ==
          "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\n"
          "Allow: GET, HEAD, OPTIONS\r\nContent-Length: 19\r\n\r\nMethod Not Allowed\n");
    CHECK(s.exchange("OPTIONS /plain HTTP/1.1\r\nHost: a\r\n\r\n") ==
          "HTTP/1.1 204 No Content\r\nAllow: GET, HEAD, OPTIONS\r\n\r\n");
    CHECK(s.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n") ==
          "HTTP/1.1 204 No Content\r\nAllow: GET, HEAD, POST, OPTIONS\r\n\r\n");
    CHECK(
        s.exchange("HEAD /hello/x HTTP/1.1\r\nHost: a\r\n\r\n") ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 7\r\n\r\n");
    CHECK(s.exchange(get_plain) == plain_answer);
}

TEST_CASE("who closes the connection") {
    const auto closes = [](std::string_view bytes, const std::string& answer) {
        CAPTURE(bytes);
        session_driver s(usual_routes());
        CHECK(s.exchange(bytes) == answer);
        CHECK(s.stream().write_ended());
        CHECK_FALSE(s.ended()); // what the client may still send must not meet a closed socket
        s.finish();
        CHECK(s.ended_well());
    };
    const auto closes_at_once = [](std::string_view bytes, const std::string& answer) {
        session_driver s(usual_routes());
        CHECK(s.exchange(bytes) == answer);
        CHECK(s.ended_well()); // the client has said that it sends no more
    };
    const std::string close = "Connection: close\r\n";
    closes_at_once(get_with("/hello/a", close), text_answer("hello a", close));
    closes_at_once("GET /plain HTTP/1.0\r\n\r\n", text_answer("plain", close));
    closes(get_with("/close"), text_answer("x", close));
    closes(get_with("/plain", close) + get_plain, text_answer("plain", close));

    session_driver s(usual_routes());
    CHECK(s.exchange("GET /plain HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") ==
          text_answer("plain", "Connection: keep-alive\r\n"));
    CHECK_FALSE(s.stream().write_ended());

    server_limits limits;
    limits.requests_per_connection_max = 2;
    session_driver two(usual_routes(), limits);
    CHECK(two.exchange(get_plain) == plain_answer);
    CHECK(two.exchange(get_plain + get_plain) == text_answer("plain", close));
}

TEST_CASE("a request that cannot be read is answered, and the connection lingers") {
    session_driver s(usual_routes());
    const std::string bad = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
    CHECK(s.exchange(get_plain + bad + get_plain) ==
          plain_answer + "HTTP/1.1 400 Bad Request\r\n"
                         "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 32\r\n"
                         "Connection: close\r\n\r\nBad Request: more than one Host\n");
    CHECK(s.stream().write_ended());
    CHECK_FALSE(s.ended());
    CHECK(s.exchange("more and more").empty()); // read, lest a reset overtakes the answer
    CHECK(s.stream().buffered().empty());
    CHECK_FALSE(s.ended());
    s.advance(5s);
    CHECK(s.ended_well());
    CHECK(s.log().back() == "GET / 400");
    CHECK(s.metrics().responses_by_class[3] == 1);
}

TEST_CASE("lingering is bounded in bytes") {
    server_limits limits;
    limits.linger_bytes_max = 100;
    session_driver s(usual_routes(), limits);
    CHECK(s.exchange("bad\r\n").starts_with("HTTP/1.1 400 "));
    CHECK(s.exchange(std::string(100, 'x')).empty());
    CHECK_FALSE(s.ended());
    s.exchange("x");
    CHECK(s.ended_well());
}

TEST_CASE("time limits of the head") {
    server_limits limits;
    limits.header_timeout = 10s;
    limits.idle_timeout = 60s;

    session_driver silent(usual_routes(), limits);
    silent.advance(9'999ms);
    CHECK_FALSE(silent.ended());
    silent.advance(1ms);
    CHECK(silent.ended_well());
    CHECK(silent.receive().empty());

    session_driver slow(usual_routes(), limits);
    slow.advance(9s);
    CHECK(slow.exchange("GET / HT").empty());
    slow.advance(999ms);
    CHECK(slow.exchange("TP/1.1\r\n").empty()); // a little more does not buy time
    slow.advance(1ms);
    CHECK(slow.receive().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    CHECK(slow.stream().write_ended());

    session_driver idle(usual_routes(), limits);
    CHECK(idle.exchange(get_plain) == plain_answer);
    idle.advance(59s);
    CHECK(idle.exchange("\r\n").empty());
    CHECK(idle.exchange("G").empty()); // from here on the head has its own time
    idle.advance(9'999ms);
    CHECK(idle.exchange("ET /plain HTTP/1.1\r\nHost: a\r\n\r\n") == plain_answer);
    idle.advance(59'999ms);
    CHECK_FALSE(idle.ended());
    idle.advance(1ms);
    CHECK(idle.ended_well());
    CHECK(idle.receive().empty());
}

TEST_CASE("an empty line in two pieces is not the beginning of a head") {
    server_limits limits;
    limits.header_timeout = 10s;
    limits.idle_timeout = 60s;

    session_driver idle(usual_routes(), limits);
    CHECK(idle.exchange(get_plain) == plain_answer);
    idle.advance(59s);
    CHECK(idle.exchange("\r").empty());
    CHECK(idle.exchange("\n").empty());
    idle.advance(999ms);
    CHECK_FALSE(idle.ended());
    idle.advance(1ms); // it has bought no time
    CHECK(idle.ended_well());

    session_driver slow(usual_routes(), limits);
    CHECK(slow.exchange(get_plain) == plain_answer);
    CHECK(slow.exchange("\r").empty());
    CHECK(slow.exchange("\n").empty());
    slow.advance(30s);
    CHECK(slow.exchange("G").empty());
    slow.advance(9'999ms); // nor has the head lost any
    CHECK(slow.exchange("ET /plain HTTP/1.1\r\nHost: a\r\n\r\n") == plain_answer);

    CHECK(slow.exchange("\r").empty());
    slow.advance(9s);
    CHECK(slow.exchange("\nG").empty());
    slow.advance(9'999ms); // nor if it begins in one piece with the end of the line
    CHECK(slow.exchange("ET /plain HTTP/1.1\r\nHost: a\r\n\r\n") == plain_answer);
    CHECK(slow.exchange("\r\n\r").empty());
    slow.advance(9s);
    CHECK(slow.exchange("\nG").empty());
    slow.advance(9'999ms);
    CHECK(slow.exchange("E").empty());
    slow.advance(1ms);
    CHECK(slow.receive().starts_with("HTTP/1.1 408 "));
}

TEST_CASE("a client that ends in the middle of a head") {
    session_driver s(usual_routes());
    CHECK(s.exchange("GET / HTTP/1.1\r\nHo").empty());
    s.finish();
    CHECK(s.receive().starts_with("HTTP/1.1 400 Bad Request\r\n"));
    CHECK(s.ended_well());
}

TEST_CASE("half-close still gets its answers") {
    session_driver s(usual_routes());
    s.stream().send(get_with("/slow") + get_plain);
    s.finish();
    s.advance(1s);
    CHECK(s.receive() == text_answer("slow a") + plain_answer);
    CHECK(s.ended_well());
}

TEST_CASE("a client that goes away is no error") {
    session_driver idle(usual_routes());
    idle.stream().reset();
    idle.scheduler().run();
    CHECK(idle.ended_well());

    session_driver busy(usual_routes());
    busy.exchange(get_with("/slow"));
    busy.stream().reset();
    busy.advance(1s);
    CHECK(busy.ended_well());
    CHECK(busy.errors().empty());
}

TEST_CASE("when the server drains, the idle go soon and the busy after their answer") {
    session_driver idle(usual_routes());
    CHECK(idle.exchange(get_plain) == plain_answer);
    idle.drain();
    idle.advance(99ms);
    CHECK_FALSE(idle.ended());
    idle.advance(1ms);
    CHECK(idle.ended_well());

    session_driver fresh(usual_routes());
    fresh.drain();
    fresh.advance(100ms);
    CHECK(fresh.ended_well());

    // A request that was on its way is served, and told that it is the last.
    session_driver on_its_way(usual_routes());
    CHECK(on_its_way.exchange(get_plain) == plain_answer);
    on_its_way.drain();
    on_its_way.advance(50ms);
    CHECK(on_its_way.exchange(get_plain) == text_answer("plain", "Connection: close\r\n"));
    CHECK(on_its_way.stream().write_ended());

    const std::string close = "Connection: close\r\n";
    session_driver half(usual_routes());
    CHECK(half.exchange("GET /plain HT").empty());
    half.drain();
    CHECK_FALSE(half.ended());
    CHECK(half.exchange("TP/1.1\r\nHost: a\r\n\r\n") == text_answer("plain", close));
    CHECK(half.stream().write_ended());

    session_driver busy(usual_routes());
    CHECK(busy.exchange(get_with("/slow")).empty());
    busy.drain();
    CHECK_FALSE(busy.ended());
    busy.advance(1s);
    CHECK(busy.receive() == text_answer("slow a", close));

    // What has arrived is served, the last of it says that it is the last.
    session_driver many(usual_routes());
    CHECK(many.exchange(get_with("/slow") + get_plain + get_with("/hello/x") + get_plain).empty());
    many.drain();
    many.advance(1s);
    CHECK(many.receive() == text_answer("slow a") + plain_answer + text_answer("hello x") +
                                text_answer("plain", close));

    // A request that arrives in the same moment as the drain is still served.
    session_driver race(usual_routes());
    CHECK(race.exchange(get_plain) == plain_answer);
    race.stream().send(get_plain);
    race.drain();
    CHECK(race.receive() == text_answer("plain", close));
}

TEST_CASE("a stop request cancels the handler and ends the session") {
    session_driver s(usual_routes());
    CHECK(s.exchange(get_with("/slow")).empty());
    s.client().request_stop();
    s.scheduler().run();
    CHECK(s.ended());
    CHECK(s.receive().empty());
    CHECK(s.errors().empty());
    CHECK(s.metrics().connections_open == 0);
    CHECK(s.metrics().requests_in_flight == 0);

    session_driver idle(usual_routes());
    idle.client().request_stop();
    idle.scheduler().run();
    CHECK(idle.ended());
}

TEST_CASE("middleware surrounds handlers and the answers that have none") {
    router inner;
    inner.get("/x", [](request& req) -> task<response> {
        co_return response::text(std::any_cast<std::string>(req.context()));
    });
    inner.use([](request& req, next proceed) -> task<response> {
        req.context() = std::any_cast<std::string>(req.context()) + "inner ";
        co_return co_await proceed(req);
    });
    router routes = usual_routes();
    routes.mount("/in", std::move(inner));
    int seen = 0;
    routes.use([&seen](request& req, next proceed) -> task<response> {
        ++seen;
        req.context() = std::string("outer ");
        response answer = co_await proceed(req);
        answer.header("X-Seen", std::to_string(seen));
        co_return answer;
    });
    routes.use([](request& req, next proceed) -> task<response> {
        if (req.query("stop"))
            co_return response::text("stopped");
        co_return co_await proceed(req);
    });
    session_driver s(std::move(routes));
    const auto numbered = [](int n) { return "X-Seen: " + std::to_string(n) + "\r\n"; };
    CHECK(s.exchange(get_with("/in/x"))
              .ends_with(numbered(1) + "Content-Length: 12\r\n\r\nouter inner "));
    CHECK(s.exchange(get_with("/plain")).ends_with(numbered(2) + "Content-Length: 5\r\n\r\nplain"));
    CHECK(s.exchange(get_with("/none"))
              .ends_with(numbered(3) + "Content-Length: 10\r\n\r\nNot Found\n"));
    CHECK(s.exchange(get_with("/in/x?stop")).ends_with("\r\n\r\nstopped"));
    CHECK(s.exchange(get_with("/throw")).starts_with("HTTP/1.1 500 "));
}

TEST_CASE("an unknown path may have a handler of its own") {
    router routes = usual_routes();
    routes.not_found([](request& req) -> task<response> {
        co_return response::text("nothing at " + std::string(req.path())).status(404);
    });
    session_driver s(std::move(routes));
    CHECK(s.exchange(get_with("/no%20where")).ends_with("\r\n\r\nnothing at /no where"));
    CHECK(s.exchange("PUT /plain HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 405 "));
}

TEST_CASE("a large answer goes out in pieces, as the client takes them") {
    router routes;
    const std::string large(1'000'000, 'x');
    routes.get("/large", [&large] { return response::text(large); });
    routes.get("/plain", [] { return response::fixed("plain"); });
    session_driver s(std::move(routes));
    s.stream().set_room(100'000);
    std::string all = s.exchange(get_with("/large") + get_plain);
    CHECK(all.size() < 300'000);
    for (;;) {
        const std::string more = s.receive();
        if (more.empty())
            break;
        all += more;
    }
    CHECK(all == text_answer(large) + plain_answer);
}

TEST_CASE("a client that takes nothing is reset") {
    router routes;
    routes.get("/large", [] { return response::text(std::string(1'000'000, 'x')); });
    session_driver s(std::move(routes));
    s.stream().set_room(1'000);
    s.stream().send(get_with("/large"));
    s.scheduler().run();
    CHECK_FALSE(s.ended());
    s.advance(60s);
    CHECK(s.stream().aborted());
    CHECK(s.ended_well());
}

} // namespace
} // namespace rota::http
