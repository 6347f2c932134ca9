#include "request_body.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/sleep.hpp>
#include <rota/with_timeout.hpp>

#include "read_patiently.hpp"
#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::session_driver;

const std::string go_ahead = "HTTP/1.1 100 Continue\r\n\r\n";

std::string posted(std::string_view path, std::string_view more) {
    return "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(more);
}

/// The content of an answer of the routes below.
std::string content(std::string_view answer) {
    const std::size_t at = answer.find("\r\n\r\n");
    return at == std::string_view::npos ? "no answer" : std::string(answer.substr(at + 4));
}

router sample() {
    router routes;
    routes
        .post("/echo",
              [](request& req) -> task<response> {
                  std::string body = co_await req.text();
                  co_return response::text(std::move(body));
              })
        .post("/whole",
              [](const request&, std::string body) { return response::text(std::move(body)); })
        .post("/pieces",
              [](request& req) -> task<response> {
                  std::string list;
                  for (;;) {
                      const std::string_view piece = co_await req.body().read();
                      if (piece.empty())
                          break;
                      list += '[' + std::string(piece) + ']';
                  }
                  for (const header_field field : req.body().trailers()) {
                      list += '{' + std::string(field.name) + '=' + std::string(field.value) + '}';
                  }
                  co_return response::text(std::move(list));
              })
        .post("/first",
              [](request& req) -> task<response> {
                  const std::string_view piece = co_await req.body().read();
                  co_return response::text(std::string(piece));
              })
        .post("/late",
              [](request& req) -> task<response> {
                  co_await sleep_for(1h);
                  std::string body = co_await req.text();
                  co_return response::text(std::move(body));
              })
        .post("/stubborn",
              [](request& req) -> task<response> {
                  std::string text = "read";
                  try {
                      text = co_await req.text();
                  } catch (const http_error&) {
                      text = "ignored";
                  }
                  co_return response::text(text);
              })
        .post("/unread", [] { return response::text("done"); });
    return routes;
}

TEST_CASE("content is read whole, in whatever pieces it comes") {
    for (const std::string_view path : {"/echo", "/whole"}) {
        const std::string sized = posted(path, "Content-Length: 11\r\n\r\nhello world");
        const std::string chunked = posted(
            path,
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\n");
        for (const std::string& bytes : {sized, chunked}) {
            for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
                session_driver s(sample());
                std::string answer = s.exchange(bytes.substr(0, cut));
                answer += s.exchange(bytes.substr(cut) + bytes);
                CAPTURE(bytes, cut, answer);
                REQUIRE(content(answer).starts_with("hello worldHTTP/1.1 200 OK\r\n"));
                REQUIRE(answer.ends_with("\r\n\r\nhello world"));
            }
        }
    }
}

TEST_CASE("content is read in pieces, trailers after it") {
    session_driver s(sample());
    CHECK(s.exchange(posted("/pieces", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nd"))
              .empty());
    CHECK(content(s.exchange("e\r\n0\r\nX-Sum: 7\r\n\r\n")) == "[abc][d][e]{X-Sum=7}");
    CHECK(content(s.exchange(posted("/pieces", "Content-Length: 0\r\n\r\n"))).empty());
    CHECK(content(s.exchange(posted("/pieces", "\r\n"))).empty());
}

TEST_CASE("100 Continue is said when the handler wants the content, and only then") {
    const std::string head = posted("/echo", "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    session_driver s(sample());
    CHECK(s.exchange(head) == go_ahead);
    CHECK(s.exchange("hi").ends_with("\r\n\r\nhi"));
    // What has arrived already needs no invitation.
    CHECK(s.exchange(head + "hi").starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(s.exchange(head) == go_ahead);
    CHECK(s.exchange("h").empty());
    CHECK(s.exchange("i").ends_with("\r\n\r\nhi"));

    session_driver chunked(sample());
    CHECK(chunked.exchange(posted("/pieces", "Expect: 100-continue\r\n"
                                             "Transfer-Encoding: chunked\r\n\r\n")) == go_ahead);
    CHECK(content(chunked.exchange("1\r\nx\r\n0\r\n\r\n")) == "[x]");

    // A final answer instead: there is no telling whether the content follows.
    session_driver refused(sample());
    const std::string answer =
        refused.exchange(posted("/unread", "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
    CHECK(refused.stream().write_ended());

    session_driver unknown(sample());
    CHECK(unknown.exchange(posted("/echo", "Expect: magic\r\nContent-Length: 2\r\n\r\n"))
              .starts_with("HTTP/1.1 417 "));
}

TEST_CASE("content that nobody reads is dropped up to a bound, and the connection goes on") {
    server_limits limits;
    limits.drain_bytes_max = 10;
    const std::string next = posted("/echo", "Content-Length: 4\r\n\r\nnext");

    session_driver s(sample(), limits);
    for (const std::string_view path : {"/unread", "/first", "/none"}) {
        const std::string answers =
            s.exchange(posted(path, "Content-Length: 4\r\n\r\nskip") + next);
        CHECK(answers.ends_with("\r\n\r\nnext"));
        CHECK(answers.find("Connection: close") == std::string::npos);
    }
    // The answer does not wait for the content.
    CHECK(content(s.exchange(posted("/unread", "Content-Length: 4\r\n\r\ns"))) == "done");
    CHECK(content(s.exchange("kip" + next)) == "next");
    // Chunks that have arrived with their end are no obstacle, whoever answers.
    for (const std::string_view path : {"/unread", "/first", "/none"}) {
        const std::string chunks = "Transfer-Encoding: chunked\r\n\r\n4\r\nskip\r\n0\r\n\r\n";
        const std::string answers = s.exchange(posted(path, chunks) + next);
        CHECK(answers.ends_with("\r\n\r\nnext"));
        CHECK(answers.find("Connection: close") == std::string::npos);
    }

    session_driver large(sample(), limits);
    CHECK(large.exchange(posted("/unread", "Content-Length: 11\r\n\r\n"))
              .find("\r\nConnection: close\r\n") != std::string::npos);
    CHECK(large.stream().write_ended());

    // Whose end nobody knows: the answer says that it is the last (RFC 9112 section 9.6).
    for (const std::string_view path : {"/unread", "/first", "/none"}) {
        session_driver endless(sample(), limits);
        const std::string answer = endless.exchange(
            posted(path, "Transfer-Encoding: chunked\r\n\r\n4\r\nskip\r\n4\r\nsk"));
        CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
        CHECK(endless.stream().write_ended());
    }
}

TEST_CASE("what a handler takes of the content is a limit that announcements are held to") {
    server_limits limits;
    limits.parser.body_bytes_max = std::numeric_limits<std::uint64_t>::max();
    const auto routes = [] {
        router made;
        made.post("/ten", [](request& req) -> task<response> {
            std::string body = co_await req.text(10);
            co_return response::text(std::move(body));
        });
        made.post("/ten/after/one", [](request& req) -> task<response> {
            const std::string_view piece = co_await req.body().read();
            std::string all(piece);
            const std::string rest = co_await req.text(10);
            co_return response::text(all + rest);
        });
        return made;
    };
    const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
    session_driver s(routes(), limits);
    CHECK(content(s.exchange(posted("/ten", chunked + "a\r\n0123456789\r\n0\r\n\r\n"))) ==
          "0123456789");
    CHECK(content(s.exchange(
              posted("/ten/after/one", chunked + "1\r\nx\r\na\r\n0123456789\r\n0\r\n\r\n"))) ==
          "x0123456789");
    for (const std::string& bytes :
         {posted("/ten", "Content-Length: 11\r\n\r\n"), posted("/ten", chunked + "b\r\n"),
          posted("/ten", chunked + "6\r\n012345\r\n5\r\n"),
          posted("/ten", chunked + "FFFFFFFFFFFFFFFF\r\n"),
          posted("/ten/after/one", chunked + "1\r\nx\r\nb\r\n"),
          posted("/ten/after/one", chunked + "c\r\nx"),
          posted("/ten/after/one", chunked + "1\r\nx\r\nFFFFFFFFFFFFFFFE\r\n")}) {
        CAPTURE(bytes);
        session_driver refusing(routes(), limits);
        const std::string answer = refusing.exchange(bytes);
        CHECK(answer.starts_with("HTTP/1.1 413 "));
        CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
    }
}

TEST_CASE("content that is malformed or too large is refused while it is read") {
    server_limits limits;
    limits.parser.body_bytes_max = 8;
    struct refusal {
        std::string bytes;
        std::string_view status;
    };
    for (const refusal& row : std::vector<refusal>{
             {posted("/echo", "Content-Length: 9\r\n\r\n123456789"), "413"},
             {posted("/echo", "Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n0\r\n\r\n"),
              "413"},
             {posted("/echo", "Transfer-Encoding: chunked\r\n\r\n5\nhello"), "400"},
             {posted("/whole", "Transfer-Encoding: chunked\r\n\r\n0\r\nA b: c\r\n\r\n"), "400"},
         }) {
        CAPTURE(row.bytes);
        session_driver s(sample(), limits);
        const std::string answer = s.exchange(row.bytes + posted("/unread", "\r\n"));
        CHECK(answer.starts_with("HTTP/1.1 " + std::string(row.status)));
        CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
        CHECK(answer.find("done") == std::string::npos);
        CHECK(s.stream().write_ended());
    }
    // A handler that does not mind cannot save the connection.
    session_driver s(sample(), limits);
    const std::string answer =
        s.exchange(posted("/stubborn", "Transfer-Encoding: chunked\r\n\r\nx\r\n"));
    CHECK(content(answer) == "ignored");
    CHECK(s.stream().write_ended());
}

TEST_CASE("a client that ends in the middle of the content") {
    session_driver s(sample());
    CHECK(s.exchange(posted("/echo", "Content-Length: 5\r\n\r\nhe")).empty());
    s.finish();
    CHECK(s.receive().starts_with("HTTP/1.1 400 Bad Request\r\n"));
    CHECK(s.ended_well());

    session_driver gone(sample());
    CHECK(gone.exchange(posted("/echo", "Content-Length: 5\r\n\r\nhe")).empty());
    gone.stream().reset();
    gone.scheduler().run();
    CHECK(gone.ended_well());
    CHECK(gone.errors().empty());
}

TEST_CASE("content has to come at a minimum rate") {
    server_limits limits;
    limits.body_grace = 10s;
    limits.body_rate_min_bytes_per_s = 100;
    limits.body_timeout = 60s;
    const std::string head = posted("/echo", "Content-Length: 100000\r\n\r\n");

    session_driver silent(sample(), limits);
    CHECK(silent.exchange(head).empty());
    silent.advance(9'999ms);
    CHECK(silent.receive().empty());
    silent.advance(1ms);
    CHECK(silent.receive().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    CHECK(silent.stream().write_ended());

    session_driver trickle(sample(), limits);
    CHECK(trickle.exchange(head).empty());
    for (int second = 0; second < 11; ++second) {
        trickle.advance(1s);
        if (second < 10)
            CHECK(trickle.exchange("1").empty());
    }
    CHECK(trickle.receive().starts_with("HTTP/1.1 408 "));

    session_driver steady(sample(), limits);
    CHECK(steady.exchange(head).empty());
    for (int second = 0; second < 59; ++second) {
        steady.advance(1s);
        REQUIRE(steady.exchange(std::string(100, 'x')).empty());
    }
    steady.advance(999ms);
    CHECK(steady.receive().empty());
    steady.advance(1ms); // fast enough, but there is an end
    CHECK(steady.receive().starts_with("HTTP/1.1 408 "));

    // The time that a handler takes is its own.
    session_driver late(sample(), limits);
    CHECK(late.exchange(posted("/late", "Content-Length: 2\r\n\r\n")).empty());
    late.advance(1h);
    late.advance(9s);
    CHECK(content(late.exchange("ok")) == "ok");
}

router patient() {
    router routes;
    routes.post("/", test::read_patiently);
    return routes;
}

TEST_CASE("a read that is given up while it waits can be repeated, and its time counts") {
    const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
    session_driver s(patient());
    for (const auto& [first, second] :
         {std::pair(posted("/", "Content-Length: 10\r\n\r\nhello"), "world"),
          std::pair(posted("/", chunked + "5\r\nhello\r\n"), "5\r\nworld\r\n0\r\n\r\n"),
          std::pair(posted("/", chunked + "5\r\nhello\r\n5"), "\r\nworld\r\n0\r\n\r\n")}) {
        CHECK(s.exchange(first).empty());
        s.advance(2'500ms);
        const std::string answer = s.exchange(second);
        CHECK(content(answer) == "helloworld after 2");
        CHECK(answer.find("Connection: close") == std::string::npos);
    }
    CHECK(s.errors().empty());

    server_limits limits;
    limits.body_grace = 10s;
    session_driver silent(patient(), limits);
    CHECK(silent.exchange(posted("/", "Content-Length: 10\r\n\r\n")).empty());
    silent.advance(9'999ms);
    CHECK(silent.receive().empty());
    silent.advance(2ms); // the read that finds it out is the next one, perhaps
    CHECK(silent.receive().starts_with("HTTP/1.1 408 "));
}

TEST_CASE("a read that is given up while it invites the content can be repeated") {
    session_driver s(patient());
    s.stream().set_room(1);
    s.stream().send(posted("/", "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"));
    s.scheduler().run();
    s.advance(2'500ms);
    s.stream().set_room(100'000);
    CHECK(s.receive() == go_ahead);
    CHECK(content(s.exchange("hello")) == "hello after 2");
    CHECK(s.errors().empty());
}

TEST_CASE("earlier answers do not wait for the content of a later request") {
    session_driver s(sample());
    const std::string answer =
        s.exchange(posted("/unread", "\r\n") + posted("/echo", "Content-Length: 2\r\n\r\n"));
    CHECK(content(answer) == "done");
    CHECK(content(s.exchange("hi")) == "hi");
}

} // namespace
} // namespace rota::http
