#include "response_writer.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/errors.hpp>
#include <rota/sleep.hpp>
#include <rota/with_timeout.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::session_driver;

std::string get_by(std::string_view path, std::string_view version = "1.1") {
    return "GET " + std::string(path) + " HTTP/" + std::string(version) + "\r\nHost: a\r\n\r\n";
}

const std::string chunked_head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\n";

response stream(body_producer producer) {
    return response::stream(std::move(producer), "text/plain");
}

router streams() {
    router routes;
    routes
        .get("/stream",
             [] {
                 return stream([](body_writer& out) -> task<void> {
                     co_await out.write("one");
                     co_await sleep_for(1s);
                     co_await out.write("");
                     co_await out.write_owned(std::string(26, 'x'));
                     out.add_trailer("X-Sum", "29");
                 });
             })
        .get("/captured/{name}",
             [](const request& req) {
                 std::string name(req.param("name"));
                 return stream([name = std::move(name)](body_writer& out) -> task<void> {
                     co_await sleep_for(1s);
                     co_await out.write(name);
                 });
             })
        .get("/nothing", [] { return stream([](body_writer&) -> task<void> { co_return; }); })
        .get("/large",
             [] {
                 return stream([](body_writer& out) -> task<void> {
                     co_await out.write_owned(std::string(100'000, 'a'));
                     const std::string more(100'000, 'b');
                     co_await out.write(more);
                 });
             })
        .get("/sized",
             [] {
                 return response::stream(
                     6,
                     [](body_writer& out) -> task<void> {
                         co_await out.write("abc");
                         co_await out.write("def");
                         out.add_trailer("X", "dropped");
                     },
                     "text/plain");
             })
        .get("/short",
             [] {
                 return response::stream(
                     6, [](body_writer& out) -> task<void> { co_await out.write("abc"); });
             })
        .get("/long",
             [] {
                 return response::stream(3, [](body_writer& out) -> task<void> {
                     co_await out.write("abc");
                     co_await out.write("d");
                 });
             })
        .get("/early",
             [] {
                 return stream([](body_writer&) -> task<void> {
                     co_await sleep_for(1s);
                     throw std::runtime_error("before anything");
                 });
             })
        .get("/broken",
             [] {
                 return stream([](body_writer& out) -> task<void> {
                     co_await out.write("abc");
                     throw std::runtime_error("midway");
                 });
             })
        .get("/plain", [] { return response::fixed("plain"); });
    return routes;
}

TEST_CASE("a stream is sent as it comes to be, in chunks") {
    session_driver s(streams());
    CHECK(s.exchange(get_by("/stream")) == chunked_head + "3\r\none\r\n");
    s.advance(1s);
    CHECK(s.receive() == "1a\r\n" + std::string(26, 'x') + "\r\n0\r\nX-Sum: 29\r\n\r\n");
    CHECK(s.exchange(get_by("/nothing")) == chunked_head + "0\r\n\r\n");
    CHECK(s.exchange("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n") == chunked_head);
    CHECK(s.exchange(get_by("/plain")).ends_with("\r\n\r\nplain"));
    CHECK(s.metrics().requests_in_flight == 0);
}

TEST_CASE("a producer keeps what it captured") {
    session_driver s(streams());
    CHECK(s.exchange(get_by("/captured/" + std::string(40, 'n'))).empty());
    s.advance(1s);
    CHECK(s.receive() == chunked_head + "28\r\n" + std::string(40, 'n') + "\r\n0\r\n\r\n");
}

TEST_CASE("an HTTP/1.0 client reads up to the end of the connection") {
    session_driver s(streams());
    CHECK(s.exchange("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") ==
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\none");
    s.advance(1s);
    CHECK(s.receive() == std::string(26, 'x'));
    CHECK(s.stream().write_ended());
}

TEST_CASE("a stream of known length is sent as it is") {
    session_driver s(streams());
    CHECK(
        s.exchange(get_by("/sized") + get_by("/plain"))
            .starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n"
                         "abcdefHTTP/1.1 200 OK\r\n"));
}

TEST_CASE("large pieces are framed too, and wait for the client") {
    session_driver s(streams());
    s.stream().set_room(1'000);
    std::string all = s.exchange(get_by("/large"));
    for (;;) {
        const std::string more = s.receive();
        if (more.empty())
            break;
        all += more;
    }
    CHECK(all == chunked_head + "186a0\r\n" + std::string(100'000, 'a') + "\r\n186a0\r\n" +
                     std::string(100'000, 'b') + "\r\n0\r\n\r\n");
}

TEST_CASE("a stream that breaks is cut, so that the client can tell") {
    session_driver broken(streams());
    CHECK(broken.exchange(get_by("/broken") + get_by("/plain")) == chunked_head + "3\r\nabc\r\n");
    CHECK(broken.ended_well());
    CHECK(broken.errors() == std::vector<std::string>{"handler of GET /broken threw: midway"});

    session_driver short_one(streams());
    CHECK(short_one.exchange(get_by("/short")).ends_with("\r\nContent-Length: 6\r\n\r\nabc"));
    CHECK(short_one.ended_well());
    session_driver long_one(streams());
    CHECK(long_one.exchange(get_by("/long")).ends_with("\r\nContent-Length: 3\r\n\r\nabc"));
    CHECK(long_one.ended_well());

    // Nothing but a reset says it to a client that reads up to the end of the connection.
    session_driver old(streams());
    CHECK(old.exchange(get_by("/broken", "1.0")).ends_with("\r\n\r\nabc"));
    CHECK(old.stream().aborted());
    CHECK(old.ended_well());

    // As long as nothing was said there is an answer.
    session_driver early(streams());
    early.exchange(get_by("/early"));
    early.advance(1s);
    CHECK(early.receive().starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
    CHECK(early.exchange(get_by("/plain")).ends_with("\r\n\r\nplain"));
}

TEST_CASE("content streams both ways at once") {
    router routes;
    routes.post("/upper", [](request& req) -> task<response> {
        co_return response::stream(
            [&req](body_writer& out) -> task<void> {
                for (;;) {
                    std::string piece(co_await req.body().read());
                    if (piece.empty())
                        break;
                    for (char& c : piece)
                        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
                    co_await out.write_owned(std::move(piece));
                }
                co_await out.write(req.path());
            },
            "text/plain");
    });
    routes.get("/plain", [] { return response::fixed("plain"); });
    const std::string post = "POST /upper HTTP/1.1\r\nHost: a\r\n";

    session_driver s(std::move(routes));
    CHECK(s.exchange(post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n") ==
          chunked_head + "3\r\nABC\r\n");
    CHECK(s.exchange("2\r\nde\r\n") == "2\r\nDE\r\n");
    CHECK(s.exchange("0\r\n\r\n" + get_by("/plain"))
              .starts_with("6\r\n/upper\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"));
    // The invitation goes before the answer. That the connection goes on is known by then.
    CHECK(s.exchange(post + "Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n") ==
          "HTTP/1.1 100 Continue\r\n\r\n");
    std::string all = s.exchange(std::string(99'999, 'x'));
    all += s.exchange("y");
    CHECK(all.ends_with("Y\r\n6\r\n/upper\r\n0\r\n\r\n"));
    CHECK(s.errors().empty());
}

TEST_CASE("no invitation follows the beginning of the answer") {
    router routes;
    routes.post("/late", [](request& req) -> task<response> {
        co_return response::stream([&req](body_writer& out) -> task<void> {
            co_await out.write("begun");
            const std::string_view piece = co_await req.body().read();
            co_await out.write(piece);
        });
    });
    session_driver s(std::move(routes));
    const std::string answer = s.exchange(
        "POST /late HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    CHECK(answer.ends_with("Connection: close\r\n\r\n5\r\nbegun\r\n"));
    CHECK(s.exchange("hi") == "2\r\nhi\r\n0\r\n\r\n");
}

TEST_CASE("a stop cuts a stream so that the client can tell") {
    for (const std::string_view version : {"1.0", "1.1"}) {
        session_driver s(streams());
        CHECK(s.exchange(get_by("/stream", version)).find("one") != std::string::npos);
        s.client().request_stop();
        s.scheduler().run();
        CHECK(s.ended());
        CHECK(s.receive().empty());
        CHECK(s.stream().aborted() == (version == "1.0"));
    }
}

TEST_CASE("a client that goes away ends its stream") {
    session_driver s(streams());
    s.stream().set_room(1'000);
    s.exchange(get_by("/large"));
    s.stream().reset();
    s.scheduler().run();
    CHECK(s.ended_well());
    CHECK(s.errors().empty());
}

} // namespace
TEST_CASE("a client whose end shows in a write is no error of the handler") {
    for (const std::string_view path : {"/large", "/flushed"}) {
        router routes = streams();
        routes.get("/flushed", [](const request&) {
            return response::stream([](body_writer& out) { return out.flush(); });
        });
        session_driver s(std::move(routes));
        s.stream().set_room(1'000);
        s.stream().send(get_by(path));
        s.scheduler().run();
        s.stream().refuse_writes();
        s.scheduler().run();
        CHECK(s.ended_well());
        CHECK(s.errors().empty());
    }
}

TEST_CASE("an answer is cut behind a write that is given up: nothing is sent twice") {
    const auto answer = [](std::size_t size, bool flushes) {
        router routes;
        routes.get("/", [size, flushes] {
            return stream([size, flushes](body_writer& out) -> task<void> {
                for (char c = 'a'; c < 'e'; ++c) {
                    const std::string piece(size, c);
                    try {
                        co_await with_timeout(1s, out.write(piece));
                        continue;
                    } catch (const timed_out&) { // what follows may have more luck
                    }
                    if (flushes)
                        co_await out.flush();
                }
            });
        });
        session_driver s(std::move(routes));
        s.stream().set_room(1'000);
        s.stream().send(get_by("/"));
        s.scheduler().run();
        s.advance(10s);
        std::string all;
        while (true) {
            const std::string more = s.receive();
            if (more.empty())
                return all;
            all += more;
        }
    };
    const std::size_t size = GENERATE(600, 20'000);
    const bool flushes = GENERATE(false, true);
    const std::string cut = answer(size, flushes);
    CHECK(cut.starts_with(chunked_head + (size == 600 ? "258" : "4e20") + "\r\naaa"));
    CHECK(std::ranges::count(cut.substr(chunked_head.size()), 'b') <= 600);
    CHECK(cut.find('c', chunked_head.size()) == std::string::npos);
    CHECK_FALSE(cut.ends_with("0\r\n\r\n"));
}

} // namespace rota::http
