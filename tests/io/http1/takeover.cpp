// Connections that handlers take over, in a session with a scripted client; server_takeover.cpp has
// them on every backend.
#include <rota/http/takeover.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/error.hpp>
#include <rota/http/router.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/routine.hpp>
#include <rota/yield.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::session_driver;

constexpr std::string_view offer =
    " HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c, ECHO\r\n";
constexpr std::string_view switched =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";

/// Sends lines back, until one says "end" or "throw".
task<void> echo(takeover& client) {
    for (;;) {
        const auto line = co_await client.read_line(1000);
        if (!line || *line == "end")
            co_return;
        if (*line == "throw")
            throw std::runtime_error("as told");
        co_await client.write_line(*line);
    }
}

response upgraded() { return response::upgrade("echo", echo); }

router upgrade_routes() {
    router made;
    made.get("/echo", upgraded)
        .post("/echo", upgraded)
        .post("/read",
              [](request& req) -> task<response> {
                  std::string text = co_await req.text();
                  co_return response::upgrade(
                      "echo", [text = std::move(text)](takeover& c) -> task<void> {
                          co_await c.write(text + std::string(c.asked().path()));
                      });
              })
        .get("/wrong", [] { return response::tunnel(echo); })
        .get("/plain", [] { return response::text("plain"); });
    return made;
}

router proxy() {
    router made = upgrade_routes();
    made.connect([](const request& req) -> response {
        if (req.target() != "b:1")
            throw http_error(403, "not there");
        return response::tunnel([](takeover& client) -> task<void> {
            co_await client.write(client.asked().target());
            co_await echo(client);
        });
    });
    return made;
}

std::string request_line(std::string_view line, std::string_view fields = "") {
    return std::string(line) + std::string(offer) + std::string(fields) + "\r\n";
}

} // namespace

TEST_CASE("a connection goes on in another protocol, with what came behind the request") {
    session_driver s(upgrade_routes());
    CHECK(s.exchange(request_line("GET /echo") + "one\ntw") == std::string(switched) + "one\n");
    CHECK(s.metrics().connections_taken_over == 1);
    CHECK(s.metrics().responses_by_class[0] == 1);
    CHECK(s.exchange("o\nGET /plain HTTP/1.1\n") == "two\nGET /plain HTTP/1.1\n");
    CHECK(s.exchange("end\nGET /plain HTTP/1.1\r\nHost: a\r\n\r\n").empty());
    CHECK(s.metrics().connections_taken_over == 0);
    s.finish();
    CHECK(s.ended_well());
    CHECK(s.log() == std::vector<std::string>{"GET /echo 101"});
    CHECK(s.errors().empty());
}

TEST_CASE("a taker that has forgotten its request is served without the session") {
    router routes = upgrade_routes();
    routes.get("/alone", [] { return upgraded().forget_request(); });
    session_driver with(upgrade_routes());
    CHECK(with.exchange(request_line("GET /echo") + "one\n").ends_with("one\n"));
    CHECK_FALSE(with.session_left());

    session_driver s(std::move(routes));
    CHECK(s.exchange(request_line("GET /alone") + "one\ntw") == std::string(switched) + "one\n");
    CHECK(s.session_left());
    CHECK(s.metrics().connections_taken_over == 1);
    CHECK(s.metrics().connections_open == 1);
    CHECK(s.exchange("o\nend\nGET /plain HTTP/1.1\r\nHost: a\r\n\r\n") == "two\n");
    s.finish();
    CHECK(s.ended_well());
    CHECK(s.metrics().connections_taken_over == 0);
    CHECK(s.metrics().connections_open == 0);
    CHECK(s.log() == std::vector<std::string>{"GET /alone 101"});
    CHECK(s.errors().empty());
}

TEST_CASE("one that throws without its session is reset, and told of") {
    router routes;
    routes.get("/alone", [] { return upgraded().forget_request(); });
    session_driver s(std::move(routes));
    s.exchange(request_line("GET /alone") + "throw\n");
    CHECK(s.session_left());
    CHECK(s.stream().aborted());
    CHECK(s.ended());
    CHECK(s.errors() == std::vector<std::string>{"handler of GET /alone threw: as told"});
    CHECK(s.metrics().connections_open == 0);
}

TEST_CASE("one that throws when all is told is told of only") {
    router routes;
    routes.get("/told", [] {
        return response::upgrade("echo", [](takeover& client) -> task<void> {
            co_await client.write("goodbye");
            client.all_told();
            throw std::runtime_error("as told");
        });
    });
    session_driver s(std::move(routes));
    CHECK(s.exchange(request_line("GET /told")) == std::string(switched) + "goodbye");
    CHECK_FALSE(s.stream().aborted());
    s.finish();
    CHECK(s.ended_well());
    CHECK(s.errors() == std::vector<std::string>{"handler of GET /told threw: as told"});
}

TEST_CASE("one that takes over sees what room there is, and shares bytes") {
    const io::shared_bytes much(std::string(20'000, 'm'));
    std::vector<bool> room;
    std::vector<bool> tried;
    router routes;
    routes.get("/", [&] {
        return response::upgrade("echo", [&](takeover& client) -> task<void> {
            room.push_back(client.has_room(1));
            tried.push_back(client.try_write_shared("tried ", much));
            room.push_back(client.has_room(1));
            tried.push_back(client.try_write_shared("x", much));
            co_await client.write_shared(much, io::deadline::value_type::max());
        });
    });
    session_driver s(std::move(routes));
    s.stream().take_shared();
    s.stream().set_room(10'000);
    CHECK((s.exchange(request_line("GET /")) ==
           std::string(switched) + "tried " + std::string(much.view())));
    CHECK((s.receive() == much.view()));
    CHECK(room == std::vector<bool>{true, false});
    CHECK(tried == std::vector<bool>{true, false});
    CHECK(s.stream().shared() == 2 * much.size());
    CHECK(s.metrics().bytes_sent >= 2 * much.size());
    s.finish();
    CHECK(s.ended_well());
}

TEST_CASE("answers to earlier requests leave before it") {
    session_driver s(upgrade_routes());
    const std::string out =
        s.exchange("GET /plain HTTP/1.1\r\nHost: a\r\n\r\n" + request_line("GET /echo") + "x\n");
    CHECK(out.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(out.ends_with("plain" + std::string(switched) + "x\n"));
}

TEST_CASE("a client that did not ask for it is told what it should have") {
    const auto answer = [](std::string_view fields, std::string_view version = "1.1") {
        session_driver s(upgrade_routes());
        return s.exchange("GET /echo HTTP/" + std::string(version) + "\r\nHost: a\r\n" +
                          std::string(fields) + "\r\n");
    };
    for (std::string_view fields : {"", "Upgrade: echo\r\n", "Connection: Upgrade\r\n",
                                    "Connection: Upgrade\r\nUpgrade: other\r\n",
                                    "Connection: upgrades\r\nUpgrade: echo\r\n"}) {
        CAPTURE(fields);
        const std::string told = answer(fields);
        CHECK(told.starts_with("HTTP/1.1 426 Upgrade Required\r\n"));
        CHECK(told.find("\r\nUpgrade: echo\r\n") != std::string::npos);
        CHECK(told.find("\r\nConnection: Upgrade\r\n") != std::string::npos);
    }
    CHECK(answer("Connection: Upgrade\r\nUpgrade: echo\r\n", "1.0").starts_with("HTTP/1.1 426 "));
    CHECK(answer("Connection: UPGRADE\r\nUpgrade: Echo\r\n").starts_with("HTTP/1.1 101 "));
}

TEST_CASE("HEAD asks for no other protocol, whatever it offers") {
    session_driver s(upgrade_routes());
    const std::string told = s.exchange(request_line("HEAD /echo"));
    CHECK(told.starts_with("HTTP/1.1 426 Upgrade Required\r\n"));
    CHECK(told.find("\r\nUpgrade: echo\r\n") != std::string::npos);
    CHECK(told.ends_with("\r\n\r\n"));
    CHECK(s.exchange(request_line("GET /echo") + "x\n") == std::string(switched) + "x\n");
}

TEST_CASE("a connection that was not given away goes on with what came behind") {
    session_driver s(upgrade_routes());
    const std::string next = "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string out = s.exchange("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n" + next +
                                       request_line("GET /plain") + next);
    CHECK(out.starts_with("HTTP/1.1 426 "));
    std::size_t plain = 0;
    for (std::size_t at = 0; (at = out.find("\r\n\r\nplain", at)) != std::string::npos; ++at)
        ++plain;
    CHECK(plain == 3);
}

TEST_CASE("content comes before the other protocol, and is none of it") {
    session_driver s(upgrade_routes());
    CHECK(s.exchange(request_line("POST /echo", "Content-Length: 6\r\n") + "abc").empty());
    CHECK(s.exchange("d\nfnext\n") == std::string(switched) + "next\n");

    session_driver chunked(upgrade_routes());
    CHECK(chunked.exchange(request_line("POST /echo", "Transfer-Encoding: chunked\r\n") +
                           "2\r\na\n\r\n0\r\n\r\nnext\n") == std::string(switched) + "next\n");

    session_driver read(upgrade_routes());
    CHECK(read.exchange(request_line("POST /read", "Content-Length: 3\r\n") + "abc") ==
          std::string(switched) + "abc/read");
}

TEST_CASE("a client that waits to be invited is, before the other protocol") {
    const std::string go_ahead = "HTTP/1.1 100 Continue\r\n\r\n";
    const std::string expect = "Expect: 100-continue\r\n";
    session_driver s(upgrade_routes());
    CHECK(s.exchange(request_line("POST /echo", expect + "Content-Length: 3\r\n")) == go_ahead);
    CHECK(s.exchange("abcnext\n") == std::string(switched) + "next\n");

    session_driver chunked(upgrade_routes());
    CHECK(chunked.exchange(request_line("POST /echo", expect + "Transfer-Encoding: chunked\r\n")) ==
          go_ahead);
    CHECK(chunked.exchange("1\r\na\r\n0\r\n\r\nnext\n") == std::string(switched) + "next\n");

    session_driver sent(upgrade_routes()); // without waiting
    CHECK(sent.exchange(request_line("POST /echo", expect + "Content-Length: 3\r\n") +
                        "abcnext\n") == std::string(switched) + "next\n");
    session_driver without(upgrade_routes());
    CHECK(without.exchange(request_line("POST /echo", expect) + "next\n") ==
          std::string(switched) + "next\n");
}

TEST_CASE("content that is too much or too bad keeps the connection HTTP") {
    const auto refused = [](std::string_view fields, std::string_view content) {
        session_driver s(upgrade_routes());
        const std::string out =
            s.exchange(request_line("POST /echo", fields) + std::string(content));
        s.finish();
        CHECK(s.ended());
        return out.starts_with("HTTP/1.1 400 ") &&
               out.find("\r\nConnection: close\r\n") != std::string::npos &&
               out.find("101") == std::string::npos;
    };
    CHECK(refused("Content-Length: 900000\r\n", std::string(100'000, 'x')));
    CHECK(refused("Transfer-Encoding: chunked\r\n", "zz\r\n"));
    session_driver early(upgrade_routes()); // which is not waited for
    CHECK(early.exchange(request_line("POST /echo", "Content-Length: 65537\r\n") + "some")
              .starts_with("HTTP/1.1 400 "));
    CHECK(refused("Content-Length: 65537\r\nExpect: 100-continue\r\n", ""));
}

TEST_CASE("CONNECT is for whom a proxy lets through") {
    session_driver s(proxy());
    CHECK(s.exchange("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\nhello\n") ==
          "HTTP/1.1 200 OK\r\n\r\nb:1hello\n");
    s.finish();
    CHECK(s.ended_well());

    session_driver other(proxy());
    CHECK(other.exchange("CONNECT c:1 HTTP/1.1\r\nHost: c:1\r\n\r\n").starts_with("HTTP/1.1 403 "));

    session_driver none(upgrade_routes());
    const std::string told =
        none.exchange("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\nGET / HTTP/1.1\r\n");
    CHECK(told.starts_with("HTTP/1.1 501 "));
    CHECK(told.find("Connection: close") != std::string::npos);
    CHECK(none.metrics().requests == 1);
}

TEST_CASE("what answers CONNECT and is no tunnel does not look like one, and is the last") {
    const auto answer = [](handler with) {
        router made = upgrade_routes();
        made.connect(std::move(with));
        session_driver s(std::move(made));
        const std::string out = s.exchange("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n"
                                           "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n");
        CHECK(out.find("\r\n\r\nplain") == std::string::npos);
        CHECK(out.find("not a tunnel") == std::string::npos);
        CHECK(out.find("\r\nConnection: close\r\n") != std::string::npos);
        CHECK(s.metrics().requests == 1);
        CHECK(s.stream().write_ended());
        return out.substr(9, 3);
    };
    CHECK(answer([](const request&) { return response::text("not a tunnel"); }) == "501");
    CHECK(answer([](request&) -> task<response> { co_return response(204); }) == "501");
    CHECK(answer([](const request&) {
              return response::stream([](body_writer& to) { return to.write("not a tunnel"); });
          }) == "501");
    CHECK(answer([](const request&) { return response::text("no").status(403); }) == "403");
    CHECK(answer([](request&) -> task<response> {
              throw http_error(403, "no");
              co_return response();
          }) == "403");
    CHECK(answer([](const request&) { return upgraded(); }) == "500");
}

TEST_CASE("what takes over is not given away behind another status") {
    router made;
    made.use([](request& asked, next proceed) -> task<response> {
        response answer = co_await proceed(asked);
        answer.status(403);
        co_return answer;
    });
    made.connect([](const request&) { return response::tunnel(echo); }).get("/echo", upgraded);
    session_driver s(std::move(made));
    CHECK(s.exchange("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\nhello\n")
              .starts_with("HTTP/1.1 500 "));
    CHECK(s.log() == std::vector<std::string>{"CONNECT b:1 500"});
    CHECK(s.errors().size() == 1);
    CHECK(s.stream().write_ended());
}

TEST_CASE("CONNECT with content, without a host, or with a path is no request") {
    const auto answer = [](std::string_view head) {
        session_driver s(proxy());
        return s.exchange(std::string(head) + "\r\n").substr(9, 3);
    };
    CHECK(answer("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nContent-Length: 1\r\n") == "400");
    CHECK(answer("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nTransfer-Encoding: chunked\r\n") == "400");
    CHECK(answer("CONNECT b:1 HTTP/1.1\r\n") == "400");
    CHECK(answer("CONNECT /x HTTP/1.1\r\nHost: b:1\r\n") == "400");
    CHECK(answer("CONNECT b HTTP/1.1\r\nHost: b:1\r\n") == "400");
    CHECK(answer("CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n") == "403");
    CHECK(answer("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\nContent-Length: 0\r\n") == "200");
}

TEST_CASE("what does not fit the request is a fault of the program") {
    session_driver s(upgrade_routes());
    CHECK(s.exchange(request_line("GET /wrong")).starts_with("HTTP/1.1 500 "));
    REQUIRE(s.errors().size() == 1);
    CHECK(s.errors()[0].find("tunnel() is for CONNECT") != std::string::npos);
}

TEST_CASE("a taker that throws is reported, and the client sees a reset") {
    session_driver s(upgrade_routes());
    CHECK(s.exchange(request_line("GET /echo") + "throw\n") == switched);
    CHECK(s.ended_well());
    CHECK(s.stream().aborted());
    REQUIRE(s.errors().size() == 1);
    CHECK(s.errors()[0] == "handler of GET /echo threw: as told");
    CHECK(s.metrics().connections_taken_over == 0);
}

TEST_CASE("a stop ends it, and the drain tells of itself first") {
    bool told = false;
    router made;
    made.get("/echo", [&told] {
        return response::upgrade("echo", [&told](takeover& client) -> task<void> {
            const bool there = co_await client.fill();
            told = there && client.draining().stop_requested();
            co_await client.fill_more();
        });
    });
    session_driver s(std::move(made));
    CHECK(s.exchange(request_line("GET /echo")) == switched);
    s.drain();
    CHECK_FALSE(s.ended());
    s.exchange("x");
    CHECK(told);
    s.client().request_stop();
    s.scheduler().run();
    CHECK(s.ended());
    CHECK(s.metrics().connections_taken_over == 0);
    CHECK(s.metrics().connections_open == 0);
}

TEST_CASE("what a taker has captured ends with it, and not with its connection") {
    std::weak_ptr<int> captured;
    router made;
    made.get("/echo", [&captured] {
        auto mine = std::make_shared<int>(0);
        captured = mine;
        return response::upgrade(
            "echo", [mine](takeover& client) -> task<void> { (void)co_await client.fill(); });
    });
    session_driver s(std::move(made));
    CHECK(s.exchange(request_line("GET /echo")) == switched);
    CHECK_FALSE(captured.expired());
    s.exchange("x");
    CHECK_FALSE(s.ended()); // it lets the client read the end
    CHECK(captured.expired());
}

TEST_CASE("nothing is given away while the server drains") {
    router made;
    made.get("/echo", [](request&) -> task<response> {
        co_await yield();
        co_return upgraded();
    });
    session_driver s(std::move(made));
    s.exchange("GET /echo HTTP/1.1\r\n"); // not idle, so it is waited for
    s.drain();
    CHECK(s.exchange(std::string(offer.substr(11)) + "\r\n").starts_with("HTTP/1.1 503 "));
}

TEST_CASE("a client that takes nothing is reset after the server's time") {
    router made;
    made.get("/flood", [] {
        return response::upgrade("echo", [](takeover& client) -> task<void> {
            for (;;)
                co_await client.write_owned(std::string(100'000, 'x'));
        });
    });
    server_limits limits;
    limits.send_timeout = 1s;
    session_driver s(std::move(made), limits);
    s.stream().set_room(10'000);
    s.stream().send(request_line("GET /flood"));
    s.scheduler().run();
    CHECK_FALSE(s.ended());
    s.advance(3s);
    CHECK(s.ended());
    CHECK(s.stream().aborted());
}

TEST_CASE("the last words of another protocol are queued, room or not") {
    router made;
    made.get("/full", [] {
        return response::upgrade("echo", [](takeover& client) -> task<void> {
            while (client.try_write(std::string(1'000, 'x')) || client.try_write("x"))
                continue;
            CHECK(client.try_write_last("end"));
            client.shutdown_write();
            CHECK_FALSE(client.try_write_last("more"));
            co_return;
        });
    });
    session_driver s(std::move(made));
    s.stream().set_room(10'000);
    CHECK(s.exchange(request_line("GET /full")).ends_with("xend"));
}

} // namespace rota::http
