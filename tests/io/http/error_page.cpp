// What router::error() makes of requests that fail, wherever they do.

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>
#include <rota/http/router.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using test::session_driver;

/// "WHO STATUS REASON", and a field that only pages set.
error_page page(std::string who) {
    return [who = std::move(who)](int status, std::string_view reason) {
        response made =
            response::text(who + ' ' + std::to_string(status) + ' ' + std::string(reason));
        made.header("Page", who);
        return made;
    };
}

response fail(const request& req) {
    if (req.query("mine"))
        throw http_error(409, "not twice");
    throw std::runtime_error("secret");
}

router api() {
    router made;
    made.error(page("api"))
        .get("/fail", fail)
        .get("/wait", [](request& req) -> task<response> { co_return fail(req); })
        .get("/stream", [] {
            return response::stream(
                [](body_writer&) -> task<void> { throw std::runtime_error("no"); });
        });
    return made;
}

router failing_routes() {
    router made;
    made.get("/fail", fail).mount("/v1", api());
    return made;
}

constexpr std::string_view keep = " HTTP/1.1\r\nHost: a\r\n\r\n";

/// The answer of a new session that is sent `bytes`: its status and content.
std::string answer_to(router served, std::string_view bytes) {
    session_driver s(std::move(served));
    const std::string answer = s.exchange(bytes);
    REQUIRE(answer.starts_with("HTTP/1.1 "));
    return answer.substr(9, 3) + ' ' + answer.substr(answer.find("\r\n\r\n") + 4);
}

std::string get(std::string_view target) {
    return answer_to(failing_routes(), "GET " + std::string(target) + std::string(keep));
}

} // namespace

TEST_CASE("what a handler throws is told by the page of its path") {
    for (const char* target : {"/v1/fail", "/v1/wait", "/v1/stream", "/%761/fail"}) {
        CAPTURE(target);
        CHECK(get(target) == "500 api 500 Internal Server Error");
    }
    CHECK(get("/v1/fail?mine") == "409 api 409 not twice");
    CHECK(get("/v1/wait?mine") == "409 api 409 not twice");
    CHECK(get("/fail") == "500 Internal Server Error\n");
    CHECK(get("/v1/none") == "404 api 404 Not Found");
    CHECK(get("/v1%2Ffail") == "404 Not Found\n");
}

TEST_CASE("a page is that of the router whose handler it was") {
    const auto told = [](std::string_view target) {
        router first;
        first.error(page("first")).get("/a", fail);
        router second;
        second.error(page("second")).get("/b", fail).get("/c/d", fail);
        router silent;
        silent.get("/e", fail);
        second.mount("/c", std::move(silent));
        router any;
        any.error(page("any")).get("/a", fail);
        router made;
        made.error(page("all")).get("/x", fail).not_found([] {
            return response::text("none").status(404);
        });
        made.mount("/v1", std::move(first))
            .mount("/v1", std::move(second))
            .mount("/{any}", std::move(any));
        return answer_to(std::move(made), "GET " + std::string(target) + std::string(keep));
    };
    CHECK(told("/v1/a") == "500 first 500 Internal Server Error");
    CHECK(told("/v1/b") == "500 second 500 Internal Server Error");
    CHECK(told("/v1/c/d") == "500 second 500 Internal Server Error");
    CHECK(told("/v1/c/e") == "500 second 500 Internal Server Error");
    CHECK(told("/y/a") == "500 any 500 Internal Server Error");
    CHECK(told("/x") == "500 all 500 Internal Server Error");
    CHECK(told("/v1/none") ==
          "404 first 404 Not Found"); // though there is a not_found() further out
    CHECK(told("/y/none") == "404 any 404 Not Found");
    CHECK(told("/") == "404 none");
    router made;
    made.error(page("outer")).mount("/v1", api());
    made.use([](request&, next) -> task<response> { throw http_error(401, "who?"); });
    CHECK(answer_to(std::move(made), "GET /v1/fail" + std::string(keep)) == "401 api 401 who?");
}

TEST_CASE("once a stream has begun there is no page") {
    int made = 0;
    router streaming;
    streaming
        .get("/late",
             [] {
                 return response::stream([](body_writer& out) -> task<void> {
                     co_await out.write("x");
                     co_await out.flush();
                     throw std::runtime_error("no");
                 });
             })
        .get("/early",
             [] {
                 return response::stream(
                     [](body_writer&) -> task<void> { throw http_error(409, "not so"); });
             })
        .error([&made](int, std::string_view reason) {
            ++made;
            return response::text(std::string(reason));
        });
    session_driver s(std::move(streaming));
    CHECK(s.exchange("GET /early" + std::string(keep)).ends_with("\r\n\r\nnot so"));
    CHECK(made == 1);
    CHECK(s.exchange("GET /late" + std::string(keep)).starts_with("HTTP/1.1 200 "));
    CHECK(made == 1);
    CHECK(s.errors().size() == 1);
}

TEST_CASE("what a handler throws is reported, page or none") {
    session_driver s(failing_routes());
    CHECK(s.exchange("GET /v1/fail" + std::string(keep)).starts_with("HTTP/1.1 500 "));
    REQUIRE(s.errors().size() == 1);
    CHECK(s.errors()[0] == "handler of GET /v1/fail threw: secret");
    CHECK(s.log().back() == "GET /v1/fail 500");
    CHECK(s.exchange("GET /v1/fail" + std::string(keep)).starts_with("HTTP/1.1 500 "));
}

TEST_CASE("where a page throws the answer is plain text, and it is reported as the page's") {
    const auto throwing = [](bool behind_middleware) {
        router made = failing_routes();
        made.error([](int status, std::string_view) -> response {
            if (status == 404)
                throw http_error(410, "not that");
            throw std::runtime_error("no page");
        });
        if (behind_middleware)
            made.use([](request& req, next proceed) { return proceed(req); });
        return made;
    };
    struct row {
        std::string_view line;
        std::string_view answer;
    };
    for (const row& r :
         std::vector<row>{{"GET /none", "404 Not Found\n"},
                          {"POST /fail", "405 Method Not Allowed\n"},
                          {"GET /fail", "500 Internal Server Error\n"},
                          {"FETCH /fail", "501 Not Implemented: unknown method\n"},
                          {"CONNECT a:1", "501 Not Implemented: CONNECT is for proxies\n"}}) {
        CAPTURE(r.line);
        session_driver s(throwing(false));
        const bool tunnel = r.line.starts_with("CONNECT");
        const std::string answer = s.exchange(std::string(r.line) + " HTTP/1.1\r\nHost: a" +
                                              (tunnel ? ":1" : "") + "\r\n\r\n");
        CHECK(answer.starts_with("HTTP/1.1 " + std::string(r.answer.substr(0, 3))));
        CHECK(answer.ends_with("\r\n\r\n" + std::string(r.answer.substr(4))));
        REQUIRE_FALSE(s.errors().empty());
        CHECK(s.errors().back().starts_with("error page threw: "));
    }
    session_driver behind(throwing(true)); // there it is as a handler that throws
    CHECK(behind.exchange("GET /none" + std::string(keep)).starts_with("HTTP/1.1 410 "));
}

TEST_CASE("what is no request is told by the page of its path as far as that was read") {
    const auto told = [](std::string_view bytes) {
        return answer_to(failing_routes(), bytes).substr(0, 11);
    };
    CHECK(told("GET /v1/a HTTP/1.1\r\nHost: a\r\nx\r\n\r\n") == "400 api 400");
    CHECK(told("GET /v1/a HTTP/1.1\r\n\r\n") == "400 api 400");
    CHECK(told("GET /v1/a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n") == "417 api 417");
    CHECK(told("GET /v1/a HTTP/1.1\r\nHost: a\r\nA: " + std::string(100'000, 'a')) ==
          "431 api 431");
    CHECK(told("POST /v1/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x, chunked\r\n\r\n") ==
          "501 api 501");
    CHECK(told("FETCH /v1/a HTTP/1.1\r\nHost: a\r\n\r\n") == "501 api 501");
    CHECK(told("FETCH /v1%zz/a HTTP/1.1\r\n") == "400 Bad Req");
    CHECK(told("GET /v1/a HTTP/2.0\r\n") == "505 api 505");
    CHECK(told("GET http://a/v1/a HTTP/1.1\r\nHost: a\r\nx\r\n\r\n") == "400 api 400");
    CHECK(told("GET /a HTTP/1.1\r\nHost: a\r\nx\r\n\r\n") == "400 Bad Req");
    CHECK(told("GET /v1/%zz HTTP/1.1\r\nHost: a\r\n\r\n") == "400 api 400");
    CHECK(told("GET /v1/% HTTP/1.1\r\nHost: a\r\n\r\n") == "400 api 400");
    CHECK(told("GET /" + std::string(100'000, 'a')) == "414 URI Too");
    CHECK(told("\x01\r\n") == "400 Bad Req");
}

TEST_CASE("an unknown method or expectation is refused behind the middleware") {
    router made = failing_routes();
    made.use([](request& req, next proceed) -> task<response> {
        response answer = co_await proceed(req);
        answer.header("Seen", to_string(req.method()));
        co_return answer;
    });
    made.not_found([] { return response::text("none"); });
    session_driver s(std::move(made));
    const auto told = [&s](std::string_view line, std::string_view fields = "") {
        const std::string answer =
            s.exchange(std::string(line) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields));
        const auto field = [&](std::string_view name) {
            const std::size_t at = answer.find("\r\n" + std::string(name) + ": ");
            const std::size_t from = at + name.size() + 4;
            return at == answer.npos ? "-" : answer.substr(from, answer.find('\r', from) - from);
        };
        return answer.substr(9, 3) + ' ' + field("Seen") + ' ' + field("Connection") + ' ' +
               answer.substr(std::min(answer.find("\r\n\r\n") + 4, answer.size()));
    };
    for (int i = 0; i < 2; ++i) { // what is repeated is the same
        CHECK(told("FETCH /v1/a", "\r\n") == "501 _OTHER - api 501 unknown method");
        CHECK(told("GET /v1/fail", "Expect: x\r\n\r\n") == "417 GET - api 417 unknown expectation");
    }
    CHECK(told("FETCH /none", "\r\n") == "501 _OTHER - Not Implemented: unknown method\n");
    CHECK(told("FETCH *", "\r\n") == "501 _OTHER - Not Implemented: unknown method\n");
    CHECK(told("FETCH http://a", "\r\n") == "501 _OTHER - Not Implemented: unknown method\n");
    CHECK(told("FETCH /", "Expect: x\r\n\r\n") == "501 _OTHER - Not Implemented: unknown method\n");
    CHECK(told("OPTIONS *", "Expect: x\r\n\r\n") ==
          "417 OPTIONS - Expectation Failed: unknown expectation\n");
    CHECK(told("FETCH /v1/a", "Content-Length: 3\r\n\r\nabc") ==
          "501 _OTHER - api 501 unknown method");
    CHECK(told("GET /none", "\r\n") == "200 GET - none");
    CHECK(s.log().front() == "FETCH /v1/a 501");
    CHECK(s.errors().empty());
    // Whether the content follows, nobody knows.
    CHECK(told("POST /v1/a", "Expect: x\r\nContent-Length: 3\r\n\r\n") ==
          "417 POST close api 417 unknown expectation");
    s.finish();
    CHECK(s.ended_well());
}

TEST_CASE("where there is no path the outermost page tells") {
    const auto told = [](std::string_view bytes) {
        router made = failing_routes();
        made.error(page("all"));
        return answer_to(std::move(made), bytes).substr(0, 11);
    };
    CHECK(told("\x01\r\n") == "400 all 400");
    CHECK(told("GET /" + std::string(100'000, 'a')) == "414 all 414");
    CHECK(told("GET /fail" + std::string(keep)) == "500 all 500");
    CHECK(told("PUT /fail" + std::string(keep)) == "405 all 405");
    CHECK(told("GET /v1/fail" + std::string(keep)) == "500 api 500");
}

TEST_CASE("a request that comes too slowly, or ends too early, has a page") {
    session_driver s(failing_routes());
    CHECK(s.exchange("GET /v1/a HTTP/1.1\r\nHo").empty());
    s.advance(1h);
    CHECK(s.receive().find("\r\n\r\napi 408 ") != std::string::npos);
    session_driver half(failing_routes());
    CHECK(half.exchange("GET /v1/a HTTP/1.1\r\nHo").empty());
    half.finish();
    CHECK(half.receive().find("\r\n\r\napi 400 ") != std::string::npos);
}

TEST_CASE("while requests are refused the page of their path says so") {
    for (const std::string target : {"/v1/fail", "/v1/none"}) {
        CAPTURE(target);
        session_driver s(failing_routes());
        s.refuse(true);
        const std::string answer = s.exchange("GET " + target + std::string(keep));
        CHECK(answer.starts_with("HTTP/1.1 503 "));
        CHECK(answer.find("\r\nRetry-After: 1\r\n") != std::string::npos);
        CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
        CHECK(answer.find("\r\n\r\napi 503 ") != std::string::npos);
    }
    router patient;
    patient.error([](int, std::string_view) { return response().header("Retry-After", "9"); });
    session_driver s(std::move(patient));
    s.refuse(true);
    const std::string answer = s.exchange("GET /" + std::string(keep));
    CHECK(answer.find("\r\nRetry-After: 9\r\n") != std::string::npos);
    CHECK(answer.find("Retry-After: 1\r\n") == std::string::npos);
}

TEST_CASE("HEAD gets a page without its content, and a connection goes on behind a page") {
    session_driver s(failing_routes());
    const std::string answer = s.exchange("HEAD /v1/fail" + std::string(keep));
    CHECK(answer.starts_with("HTTP/1.1 500 "));
    CHECK(answer.find("\r\nPage: api\r\n") != std::string::npos);
    CHECK(answer.ends_with("\r\n\r\n"));
    CHECK(s.exchange("GET /v1/none" + std::string(keep)).starts_with("HTTP/1.1 404 "));
    CHECK_FALSE(s.ended());
}

TEST_CASE("a page may say what is allowed, but not that all is well") {
    router made;
    made.get("/", [] { return response(); }).error([](int status, std::string_view) {
        response answer = response::text("?").status(200);
        if (status == 405)
            answer.header("Allow", "GET");
        return answer;
    });
    session_driver s(std::move(made));
    const std::string answer = s.exchange("PUT /" + std::string(keep));
    CHECK(answer.starts_with("HTTP/1.1 405 "));
    CHECK(answer.find("\r\nAllow: GET\r\n") != std::string::npos);
    CHECK(answer.find("Allow: GET,") == std::string::npos);
}

TEST_CASE("where a page fails, which is reported, or streams, there is plain text") {
    router throwing;
    throwing.get("/", fail).error(
        [](int, std::string_view) -> response { throw std::runtime_error("worse"); });
    session_driver s(std::move(throwing));
    CHECK(s.exchange("GET /" + std::string(keep)).ends_with("\r\n\r\nInternal Server Error\n"));
    CHECK(s.errors() ==
          std::vector<std::string>{"handler of GET / threw: secret", "error page threw: worse"});
    CHECK(s.exchange("GET /none" + std::string(keep)).starts_with("HTTP/1.1 404 "));
    CHECK(s.errors().size() == 3);
    CHECK(s.exchange("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    CHECK(s.errors().back() == "error page threw: worse");
    router streaming;
    streaming.get("/", fail).error([](int, std::string_view) {
        return response::stream([](body_writer& out) -> task<void> { co_await out.write("x"); });
    });
    CHECK(answer_to(std::move(streaming), "GET /" + std::string(keep)) ==
          "500 Internal Server Error\n");
}

} // namespace rota::http
