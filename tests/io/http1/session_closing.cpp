// When the end of a session waits for the client's, though the client has asked for it, and the end
// of one whose requests are refused.

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/http/router.hpp>
#include <rota/sleep.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::session_driver;

task<void> much(body_writer& out) {
    const std::string piece(10'000, 'x');
    for (int i = 0; i < 4; ++i)
        co_await out.write(piece);
}

router routes() {
    router made;
    made.get("/few", [] { return response::fixed("few"); })
        .get("/large", [] { return response::text(std::string(40'000, 'x')); })
        .get("/streamed", [] { return response::stream(much); });
    return made;
}

/// Whether the session has ended as soon as it had answered.
bool ends_at_once(const std::string& requests) {
    session_driver s(routes());
    CHECK(s.exchange(requests).starts_with("HTTP/1.1 200 OK\r\n"));
    const bool at_once = s.ended();
    s.finish();
    CHECK(s.ended_well());
    return at_once;
}

const std::string close = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const std::string keep = " HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string get = "GET /few" + keep;
const std::string few = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
                        "Content-Length: 3\r\n\r\nfew";

/// Asks for /slow and `behind`, and drains: how many answers there are, and how many say that they
/// are the last, which the very last then has to.
std::pair<int, int> answers_in_drain(const std::string& behind) {
    router made = routes();
    made.get("/slow",
             [](const request&) -> task<response> {
                 co_await sleep_for(1s);
                 co_return response::text("slow");
             })
        .post("/streams", [] { return response::stream(much); });
    session_driver s(std::move(made));
    CHECK(s.exchange("GET /slow" + keep + behind).empty());
    s.drain();
    s.advance(1s);
    const std::string all = s.receive();
    const auto count = [&all](std::string_view text) {
        int found = 0;
        for (std::size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at)
            ++found;
        return found;
    };
    const std::size_t last = all.rfind("HTTP/1.1 ");
    CHECK(all.find("Connection: close", last) != std::string::npos);
    CHECK(s.stream().write_ended());
    return {count("HTTP/1.1 "), count("Connection: close")};
}

} // namespace

TEST_CASE("only what the kernel surely takes at once is not waited for") {
    CHECK(ends_at_once("GET /few" + close));
    CHECK(ends_at_once("GET /few" + keep + "GET /few" + close));
    CHECK_FALSE(ends_at_once("GET /large" + close));
    CHECK_FALSE(ends_at_once("GET /streamed" + close));
    CHECK_FALSE(ends_at_once("GET /large" + keep + "GET /few" + close));
}

TEST_CASE("one that has ended its sending is told of what went wrong") {
    const auto failing = [] {
        router made;
        made.get("/late",
                 [](request&) -> task<response> {
                     co_await sleep_for(50ms);
                     throw timed_out();
                 })
            .get("/disk",
                 [](request&) -> task<response> {
                     co_await sleep_for(50ms);
                     throw std::system_error(std::make_error_code(std::errc::no_space_on_device));
                 })
            .get("/none", [](request&) { return task<response>(); })
            .get("/stream",
                 [] { return response::stream([](body_writer&) { return task<void>(); }); });
        return made;
    };
    for (const char* path : {"/late", "/disk", "/none", "/stream"}) {
        CAPTURE(path);
        session_driver s(failing());
        s.stream().send("GET " + std::string(path) + keep);
        s.finish();
        s.advance(50ms);
        CHECK(s.receive().starts_with("HTTP/1.1 500 "));
        CHECK(s.errors().size() == 1);
        CHECK(s.ended_well());
    }
    session_driver s(failing());
    s.stream().send("GET /late" + keep);
    s.scheduler().run();
    s.stream().reset();
    s.advance(50ms);
    CHECK(s.receive().empty());
    CHECK(s.errors().empty()); // it is what the client has done
    CHECK(s.ended_well());
}

TEST_CASE("a drain does not wait for clients that do not close after their last answer") {
    server_limits limits;
    limits.linger_timeout = 5s;
    limits.drain_grace = 100ms;
    const std::string post = "POST /few HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n";
    SECTION("it began before the answer") {
        session_driver s(routes(), limits);
        s.stream().send("GET /wai");
        s.drain();
        const std::string answer = s.exchange("t" + keep);
        CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
        CHECK(s.stream().write_ended());
        s.advance(99ms);
        CHECK_FALSE(s.ended());
        s.advance(1ms);
        CHECK(s.ended_well());
    }
    SECTION("it begins behind the answer") {
        session_driver s(routes(), limits);
        CHECK(s.exchange("GET /large" + close).ends_with("xxx"));
        s.advance(1s);
        CHECK_FALSE(s.ended());
        s.drain();
        CHECK_FALSE(s.ended());
        s.advance(100ms);
        CHECK(s.ended_well());
    }
    SECTION("one that still sends what is refused has its time") {
        session_driver s(routes(), limits);
        CHECK(s.exchange(post).starts_with("HTTP/1.1 405 "));
        s.drain();
        for (int i = 0; i < 9; ++i) {
            s.advance(499ms);
            CHECK_FALSE(s.ended());
            CHECK(s.exchange("x").empty());
        }
        s.advance(600ms);
        CHECK(s.ended_well());
    }
    SECTION("one that has sent what is refused, and no more, is not waited for") {
        session_driver s(routes(), limits);
        CHECK(s.exchange(post).starts_with("HTTP/1.1 405 "));
        s.advance(1s);
        s.drain();
        s.advance(499ms);
        CHECK_FALSE(s.ended());
        s.advance(1ms);
        CHECK(s.ended_well());
    }
    SECTION("a stop ends any of them") {
        session_driver s(routes(), limits);
        CHECK(s.exchange("GET /large" + close).ends_with("xxx"));
        s.client().request_stop();
        s.scheduler().run();
        CHECK(s.ended());
    }
}

TEST_CASE("the last answer of a drain says so, whatever that is no request stands behind it") {
    const std::string head = " HTTP/1.1\r\nHost: a\r\n";
    const std::string chunks = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    CHECK(answers_in_drain("\r\n") == std::pair(1, 1));
    CHECK(answers_in_drain("\r\n\r\n" + get + "\r\n") == std::pair(2, 1));
    CHECK(answers_in_drain("GET /few" + head + "Content-Length: 3\r\n\r\nabc") == std::pair(2, 1));
    CHECK(answers_in_drain("PUT /few" + head + "Content-Length: 3\r\n\r\nabc" + get) ==
          std::pair(3, 1));
    CHECK(answers_in_drain("PUT /few" + head + chunks + get) == std::pair(3, 1));
    CHECK(answers_in_drain("POST /streams" + head + chunks) == std::pair(2, 1));
}

TEST_CASE("a request that ends unanswered is counted and in the log") {
    const auto waiting = [] {
        router made;
        made.post("/all", [](const request&, std::string all) { return response::text(all); })
            .get("/slow", [](const request&) -> task<response> {
                co_await sleep_for(1h);
                co_return response::text("slow");
            });
        return made;
    };
    const std::string post = "POST /all HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    using lines = std::vector<std::string>;

    session_driver cut(waiting());
    cut.exchange(post + "abcdeGET /slow" + keep);
    cut.client().request_stop();
    cut.scheduler().run();
    CHECK(cut.ended());
    CHECK(cut.log() == lines{"POST /all 200", "GET /slow 503"});
    CHECK(cut.metrics().requests == 2);

    session_driver left(waiting());
    left.exchange(post + "abc");
    left.stream().reset();
    left.scheduler().run();
    CHECK(left.ended_well());
    CHECK(left.log() == lines{"POST /all 499"});
    CHECK(left.metrics().requests == 1);
}

TEST_CASE("what is answered when its client is known to have gone has no answer") {
    const auto late = [] {
        router made = routes();
        made.get("/slow", [](const request&) -> task<response> {
            co_await sleep_for(1h);
            co_return response::text("slow");
        });
        made.get("/refused", [](const request&) -> task<response> {
            co_await sleep_for(1h);
            throw http_error(409, "");
        });
        made.get("/written", [] {
            return response::stream([](body_writer& out) -> task<void> {
                co_await sleep_for(1h);
                co_await out.write("late");
            });
        });
        made.get("/empty", [] {
            return response::stream([](body_writer&) -> task<void> { co_await sleep_for(1h); });
        });
        return made;
    };
    for (const std::string path : {"/slow", "/refused", "/written", "/empty"}) {
        CAPTURE(path);
        session_driver s(late());
        CHECK(s.exchange("GET " + path + keep + get + get).empty());
        s.stream().reset();
        s.advance(1h);
        CHECK(s.ended_well());
        CHECK(s.log() == std::vector<std::string>{"GET " + path + " 499"});
    }
}

TEST_CASE("of a stream whose client has gone no more counts than had left") {
    router made;
    made.get("/lines", [] {
        return response::stream([](body_writer& out) -> task<void> {
            for (int i = 0; i < 4; ++i) {
                co_await out.write("a line\n");
                co_await sleep_for(1h);
            }
        });
    });
    session_driver s(std::move(made));
    CHECK(s.exchange("GET /lines" + keep).find("a line") != std::string::npos);
    s.stream().reset();
    s.advance(1h);
    CHECK(s.ended_well());
    CHECK(s.log() == std::vector<std::string>{"GET /lines 200"});
    CHECK(s.content_sent() == 7);
}

TEST_CASE("what of a request line could be read is in the log, whatever is wrong with it") {
    const auto logged = [](const std::string& line) {
        server_limits limits;
        limits.parser.request_line_bytes_max = 64;
        session_driver s(routes(), limits);
        s.exchange(line + "\r\nHost: a\r\n\r\n");
        return s.log().at(0);
    };
    const std::string path(40, 'x');
    CHECK(logged("PROPFIND /secret HTTP/1.1") == "PROPFIND /secret 501");
    CHECK(logged("HEAD /secret HTTP/2.0") == "HEAD /secret 505");
    CHECK(logged("GET /a b HTTP/1.1") == "  400");
    CHECK(logged("POST /" + path + path + " HTTP/1.1") == "POST /" + path + path + " 414");
    CHECK(logged("POST /" + path + " HTTP/1.1" + path) == "POST /" + path + " 414");
    CHECK(logged("BREW /" + path + path) == "BREW /" + path + path + " 414");
    CHECK(logged(path + path) == "  414");
    CHECK(logged("<a> /" + path + path) == "  414");
}

TEST_CASE("while requests are refused each is answered once, and its connection ends") {
    session_driver s(routes());
    s.refuse(true);
    const std::string answer = s.exchange("GET /few" + keep + "GET /large" + keep);
    CHECK(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"));
    CHECK(answer.find("\r\nRetry-After: 1\r\n") != std::string::npos);
    CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
    CHECK(answer.find("HTTP/1.1", 1) == std::string::npos);
    s.finish();
    CHECK(s.ended_well());
    CHECK(s.log() == std::vector<std::string>{"GET /few 503"});
}

TEST_CASE("what is refused may have content, and is not read") {
    session_driver s(routes());
    s.refuse(true);
    const std::string answer =
        s.exchange("POST /few HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nabc");
    CHECK(answer.starts_with("HTTP/1.1 503 "));
    s.stream().send(std::string(10'000, 'x'));
    s.finish();
    CHECK(s.ended_well());
}

TEST_CASE("requests are refused for as long as that is said, and not those at work") {
    session_driver s(routes());
    CHECK(s.exchange("GET /few" + keep).starts_with("HTTP/1.1 200 OK\r\n"));
    s.refuse(true);
    s.refuse(false);
    CHECK(s.exchange("GET /few" + keep).starts_with("HTTP/1.1 200 OK\r\n"));
    s.refuse(true);
    CHECK(s.exchange("HEAD /few" + keep).starts_with("HTTP/1.1 503 "));
    s.finish();
    CHECK(s.ended_well());
}

TEST_CASE("a request for a host that has another connection is told so") {
    session_driver s(routes(), {}, [](std::string_view host) { return host == "b:8443"; });
    CHECK(s.exchange("GET /few" + keep).starts_with("HTTP/1.1 200 OK\r\n"));
    const std::string answer = s.exchange("GET /few HTTP/1.1\r\nHost: b:8443\r\n\r\n");
    CHECK(answer.starts_with("HTTP/1.1 421 Misdirected Request\r\n"));
    CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
    s.finish();
    CHECK(s.ended_well());
    CHECK(s.log().back() == "GET /few 421");
}

TEST_CASE("a target of https is refused where the connection is in clear") {
    for (const std::string target : {"https://a/few", "HTTPS://a/few", "https://a"}) {
        session_driver s(routes());
        const std::string answer = s.exchange("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
        CHECK(answer.starts_with("HTTP/1.1 421 Misdirected Request\r\n"));
    }
    session_driver s(routes());
    CHECK(s.exchange("GET http://a/few HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("empty lines before a head are no part of it, whole or cut") {
    server_limits limits;
    limits.parser.head_bytes_max = get.size();
    const std::string lines = "\r\n\r\n";
    session_driver whole(routes(), limits);
    CHECK(whole.exchange(lines + get) == few);
    session_driver cut(routes(), limits);
    CHECK(cut.exchange(lines).empty());
    CHECK(cut.exchange(get) == few);
    session_driver slow(routes(), limits);
    std::string answer;
    for (const char c : lines + get)
        answer += slow.exchange({&c, 1});
    CHECK(answer == few);
}

TEST_CASE("a HEAD has no content in its answer, whatever is wrong with it") {
    server_limits limits;
    limits.parser.request_line_bytes_max = 100;
    for (const std::string& bytes :
         {std::string("HEAD /x HTTP/2.0\r\nHost: a\r\n\r\n"),
          "HEAD /" + std::string(100, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n",
          std::string("HEAD /x HTTP/1.x\r\nHost: a\r\n\r\n"),
          std::string("HEAD /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"),
          std::string("HEAD /\xff HTTP/1.1\r\nHost: a\r\n\r\n"),
          std::string("HEAD /x HTTP/1.1\r\n\r\n")}) {
        CAPTURE(bytes);
        session_driver s(routes(), limits);
        const std::string answer = s.exchange(bytes);
        CHECK(answer.starts_with("HTTP/1.1 "));
        CHECK(answer.find("Content-Length: 0") == std::string::npos);
        CHECK(answer.ends_with("\r\n\r\n"));
    }
}

TEST_CASE("content that came with its head is read, whether it was to be asked for or not") {
    session_driver s(routes());
    const std::string missing = "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
                                "Expect: 100-continue\r\n\r\nhello";
    const std::string answers = s.exchange(missing + get);
    CHECK(answers.starts_with("HTTP/1.1 404 "));
    CHECK(answers.ends_with(few));
}

} // namespace rota::http
