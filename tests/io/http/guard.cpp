#include <rota/http/guard.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <rota/sleep.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

task<void> tell_once_an_hour(body_writer& to) {
    for (;;) {
        co_await to.write("told\n");
        co_await to.flush();
        co_await sleep_for(std::chrono::hours(1));
    }
}

/// A server with a guard around /v1 and none around /open.
router guarded(guard_options options, error_page page = {}) {
    const auto by = std::make_shared<const guard>(std::move(options));
    router api;
    api.get("/a", [] { return response::text("a\n"); })
        .post("/a", [] { return response::text("added\n"); })
        .get("/stream", [] { return response::stream(tell_once_an_hour); })
        .use(guard::around(by, std::move(page)));
    router made;
    made.get("/open", [] { return response::text("open\n"); }).mount("/v1", std::move(api));
    return made;
}

/// The answer of a new session; `fields` end in CRLF each.
std::string answer_to(const guard_options& options, std::string_view line,
                      std::string_view fields = "") {
    test::session_driver s(guarded(options));
    return s.exchange(std::string(line) + "\r\n" + std::string(fields) + "\r\n");
}

int status_of(const guard_options& options, std::string_view line, std::string_view fields = "") {
    const std::string answer = answer_to(options, line, fields);
    REQUIRE(answer.starts_with("HTTP/1.1 "));
    return std::stoi(answer.substr(9, 3));
}

int status_for_host(const guard_options& options, std::string_view host) {
    return status_of(options, "GET /v1/a HTTP/1.1", "Host: " + std::string(host) + "\r\n");
}

constexpr std::string_view post_line = "POST /v1/a HTTP/1.1";
constexpr std::string_view own = "Host: localhost:8080\r\n";

int status_for_post(std::string_view fields) {
    return status_of({}, post_line, std::string(own) + std::string(fields));
}

struct token_list {
    token_list() {
        std::string name = std::filesystem::temp_directory_path() / "rota-guard-XXXXXX";
        const int fd = ::mkstemp(name.data());
        REQUIRE(fd >= 0);
        ::close(fd);
        path = name;
        std::ofstream(path) << "secret-1\nsecret-2\n";
        options.tokens = std::make_shared<token_file>(path);
    }
    ~token_list() { std::filesystem::remove(path); }
    token_list(const token_list&) = delete;
    token_list& operator=(const token_list&) = delete;
    std::string path;
    guard_options options;
};

} // namespace

TEST_CASE("on loopback Host is localhost, an address of loopback, or one that is allowed") {
    for (const char* host : {"localhost", "LocalHost:8080", "localhost.", "127.0.0.1:1",
                             "127.1.2.3", "[::1]:8080", "[0:0::1]"}) {
        CAPTURE(host);
        CHECK(status_for_host({}, host) == 200);
    }
    for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                             "127.0.0.1.evil.example", "192.168.0.1", "[::2]", "0.0.0.0", ""}) {
        CAPTURE(host);
        CHECK(status_for_host({}, host) == 421);
    }
    CHECK(status_of({}, "GET /v1/a HTTP/1.0") == 421);
    CHECK(status_of({}, "GET /v1/a HTTP/1.0", "Host: localhost\r\n") == 200);
    CHECK(status_of({}, "GET http://evil.example/v1/a HTTP/1.1", "Host: localhost\r\n") == 421);
    CHECK(status_of({}, "GET http://localhost/v1/a HTTP/1.1", "Host: evil.example\r\n") == 200);
}

TEST_CASE("allowed hosts, each for every port or one") {
    const guard_options options{
        .allowed_hosts = {"Queue.Example.org", "b.example:444", "c.example:443", "[2001:db8::1]"}};
    for (const char* host :
         {"queue.example.org", "QUEUE.example.org:81", "queue.example.org.", "b.example:444",
          "c.example", "c.example:443", "[2001:DB8::1]:80", "[2001:db8:0:0::0:1]", "localhost"}) {
        CAPTURE(host);
        CHECK(status_for_host(options, host) == 200);
    }
    for (const char* host : {"example.org", "x.queue.example.org", "b.example", "b.example:443",
                             "c.example:444", "[2001:db8::2]"}) {
        CAPTURE(host);
        CHECK(status_for_host(options, host) == 421);
    }
}

TEST_CASE("beyond loopback any Host will do, unless some are allowed: then they or an address") {
    const guard_options any{.beyond_loopback = true};
    for (const char* host : {"evil.example", "192.168.0.1:8080", ""})
        CHECK(status_for_host(any, host) == 200);
    CHECK(status_of(any, "GET /v1/a HTTP/1.0") == 200);
    const guard_options some{.beyond_loopback = true, .allowed_hosts = {"queue.example.org"}};
    for (const char* host : {"queue.example.org", "192.168.0.1:8080", "[2001:db8::1]", "localhost"})
        CHECK(status_for_host(some, host) == 200);
    for (const char* host : {"evil.example", "192.168.0.1.evil.example", ""})
        CHECK(status_for_host(some, host) == 421);
    CHECK(status_of(some, "GET /v1/a HTTP/1.0") == 421);
}

TEST_CASE("pages of other origins change nothing") {
    CHECK(status_for_post("") == 200); // no browser
    CHECK(status_for_post("Origin: http://localhost:8080\r\n") == 200);
    CHECK(status_for_post("Origin: http://localhost:8080\r\nSec-Fetch-Site: same-origin\r\n") ==
          200);
    CHECK(status_for_post("Sec-Fetch-Site: none\r\n") == 200);
    CHECK(status_for_post("Sec-Fetch-Site: cross-site\r\n") == 403);
    CHECK(status_for_post("sec-fetch-site: Cross-Site\r\n") == 403);
    CHECK(status_for_post("Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n") == 403);
    CHECK(status_for_post("Origin: http://localhost:8080\r\nSec-Fetch-Site: cross-site\r\n") ==
          403);
    CHECK(status_for_post("Origin: http://localhost:3000\r\nSec-Fetch-Site: same-site\r\n") == 403);
    CHECK(status_for_post("Origin: http://evil.example\r\n") == 403);
    CHECK(status_for_post("Origin: null\r\n") == 403);
    CHECK(status_for_post("Origin:\r\n") == 403);
    CHECK(status_for_post("Origin: http://localhost:8080\r\nOrigin: http://evil.example\r\n") ==
          403);
    // Every method but these three, whether there is a route for it or not.
    const std::string foreign = std::string(own) + "Origin: http://evil.example\r\n";
    for (const char* method : {"PUT", "PATCH", "DELETE", "TRACE"})
        CHECK(status_of({}, std::string(method) + " /v1/none HTTP/1.1", foreign) == 403);
    CHECK(status_of({}, "GET /v1/a HTTP/1.1", foreign) == 200);
    CHECK(status_of({}, "HEAD /v1/a HTTP/1.1", foreign) == 200);
    CHECK(status_of({}, "OPTIONS /v1/a HTTP/1.1", foreign) == 204);
    // Where any Host will do, the page still has to be its own.
    CHECK(status_of({.beyond_loopback = true}, post_line,
                    "Host: a.example\r\nOrigin: https://a.example\r\n") == 200);
    CHECK(status_of({.beyond_loopback = true}, post_line,
                    "Host: a.example\r\nOrigin: https://b.example\r\n") == 403);
}

TEST_CASE("the answers say what is wrong") {
    const std::string wrong_host = answer_to({}, "GET /v1/a HTTP/1.1", "Host: evil.example\r\n");
    CHECK(wrong_host.starts_with("HTTP/1.1 421 Misdirected Request\r\n"));
    CHECK(wrong_host.find("\r\n\r\nMisdirected Request: Host is neither localhost, ") !=
          std::string::npos);
    const std::string advised = answer_to({.host_advice = "try --allowed-host"},
                                          "GET /v1/a HTTP/1.1", "Host: evil.example\r\n");
    CHECK(advised.ends_with("\r\n\r\nMisdirected Request: try --allowed-host\n"));
    const std::string foreign =
        answer_to({}, post_line, std::string(own) + "Origin: null\r\nContent-Length: 0\r\n");
    CHECK(foreign.find("\r\n\r\nForbidden: this was sent by a page of another origin") !=
          std::string::npos);
}

TEST_CASE("a page can make the answers, and what it leaves out is added") {
    const token_list list;
    test::session_driver s(guarded(list.options, [](int status, std::string_view reason) {
        return response::json("{\"" + std::to_string(status) + "\":\"" + std::string(reason) +
                              "\"}");
    }));
    const std::string answer = s.exchange("GET /v1/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(answer.starts_with("HTTP/1.1 401 "));
    CHECK(answer.find("\r\nWWW-Authenticate: Bearer realm=\"rota\"\r\n") != std::string::npos);
    CHECK(answer.find("application/json") != std::string::npos);
    CHECK(answer.ends_with("{\"401\":\"this needs a token: Authorization: Bearer TOKEN\"}"));
}

TEST_CASE("with tokens one of them is needed") {
    const token_list list;
    const auto asked_with = [&list](const std::string& field) {
        const std::string answer =
            answer_to(list.options, "GET /v1/a HTTP/1.1", std::string(own) + field);
        const std::string name = "\r\nWWW-Authenticate: ";
        const std::size_t at = answer.find(name);
        const std::string challenge =
            at == std::string::npos
                ? ""
                : answer.substr(at + name.size(), answer.find("\r\n", at + 2) - at - name.size());
        return answer.substr(9, 3) + ' ' + challenge;
    };
    for (const char* right :
         {"Authorization: Bearer secret-1\r\n", "authorization: bearer secret-2\r\n",
          "Authorization: BEARER   secret-1  \r\n",
          "Authorization: Bearer secret-1\r\nAuthorization: Bearer secret-2\r\n"}) {
        CAPTURE(right);
        CHECK(asked_with(right) == "200 ");
    }
    for (const char* none :
         {"", "Authorization: Basic c2VjcmV0LTE=\r\n", "Authorization: Bearer\r\n",
          "Authorization: Bearer \r\n", "Authorization: secret-1\r\n",
          "Authorization: Bearersecret-1\r\n", "Cookie: token=secret-1\r\n"}) {
        CAPTURE(none);
        CHECK(asked_with(none) == "401 Bearer realm=\"rota\"");
    }
    for (const char* wrong :
         {"Authorization: Bearer secret\r\n", "Authorization: Bearer secret-11\r\n",
          "Authorization: Bearer Secret-1\r\n", "Authorization: Bearer secret-1 secret-2\r\n",
          "Authorization: Bearer secret-1,\r\n",
          "Authorization: Bearer secret-1\r\nAuthorization: Bearer secret-3\r\n"}) {
        CAPTURE(wrong);
        CHECK(asked_with(wrong) == "401 Bearer realm=\"rota\", error=\"invalid_token\"");
    }
    // Under the prefix whatever it is, elsewhere nothing.
    CHECK(status_of(list.options, "GET /v1/none HTTP/1.1", own) == 401);
    CHECK(status_of(list.options, "GET /v1 HTTP/1.1", own) == 401);
    CHECK(status_of(list.options, "GET /%761/a HTTP/1.1", own) == 401);
    CHECK(status_of(list.options, "PUT /v1/a HTTP/1.1", own) == 401);
    CHECK(status_of(list.options, "OPTIONS /v1/a HTTP/1.1", own) == 401);
    CHECK(status_of(list.options, "GET /open HTTP/1.1", "Host: evil.example\r\n") == 200);
    CHECK(status_of(list.options, "GET /none HTTP/1.1", "Host: evil.example\r\n") == 404);
    // A token helps against neither of the others.
    const std::string token = "Authorization: Bearer secret-1\r\n";
    CHECK(status_of(list.options, "GET /v1/a HTTP/1.1", "Host: evil.example\r\n" + token) == 421);
    CHECK(status_of(list.options, post_line, std::string(own) + "Origin: null\r\n" + token) == 403);
}

TEST_CASE("a streamed answer is cut when its token is taken out, and no other") {
    const token_list list;
    test::session_driver first(guarded(list.options));
    test::session_driver second(guarded(list.options));
    const std::string line = "GET /v1/stream HTTP/1.1\r\n" + std::string(own);
    CHECK(first.exchange(line + "Authorization: Bearer secret-1\r\n\r\n").ends_with("told\n\r\n"));
    CHECK(second.exchange(line + "Authorization: Bearer secret-2\r\n\r\n").ends_with("told\n\r\n"));
    for (test::session_driver* each : {&first, &second}) {
        each->advance(std::chrono::seconds(5));
        CHECK(!each->ended());
    }
    std::ofstream(list.path) << "secret-2\n";
    for (test::session_driver* each : {&first, &second})
        each->advance(std::chrono::seconds(1));
    CHECK(first.ended());
    CHECK(first.receive().empty()); // no last chunk
    CHECK(first.errors().empty());
    CHECK(!second.ended());
    second.advance(std::chrono::hours(1));
    CHECK(second.receive().ends_with("told\n\r\n"));
}

TEST_CASE("what a browser needs before it has a token") {
    const token_list list;
    const auto by = std::make_shared<const guard>(list.options);
    router made;
    made.get("/page", [by](const request& req) {
        const auto refused = by->check_browser(req);
        return refused ? guard::answer(*refused, {}) : response::text("page\n");
    });
    test::session_driver s(std::move(made));
    CHECK(s.exchange("GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 200 "));
    CHECK(s.exchange("GET /page HTTP/1.1\r\nHost: evil.example\r\n\r\n")
              .starts_with("HTTP/1.1 421 "));
}

TEST_CASE("options that make no sense") {
    for (const char* host :
         {"", "http://example.org", "example.org/", "*.example.org:x", "a b", "example.org:99999",
          "::1", "*", "*.example.org", "a,b", ".example.org", "a..b", "[::1", "a%20b"}) {
        CAPTURE(host);
        CHECK_THROWS_AS(guard({.allowed_hosts = {host}}), std::invalid_argument);
    }
    CHECK_THROWS_AS(guard({.realm = "a\"b"}), std::invalid_argument);
    CHECK_THROWS_AS(guard({.realm = "a\r\nb"}), std::invalid_argument);
}

TEST_CASE("where only this machine reaches it") {
    using io::endpoint;
    for (const char* text : {"127.0.0.1:80", "127.9.0.1:80", "[::1]:80", "[::1%1]:80",
                             "[::1%lo]:80", "[::ffff:127.0.0.1%1]:80", "unix:/run/x", "unix:@x"})
        CHECK(is_local(endpoint::parse(text)));
    CHECK(is_local(endpoint::ip("localhost", 80)));
    CHECK(is_local(endpoint::ip("::ffff:127.0.0.1", 80)));
    for (const char* text : {"0.0.0.0:80", "10.0.0.1:80", "[::]:80", "[::%1]:80", "[fe80::1%1]:80"})
        CHECK_FALSE(is_local(endpoint::parse(text)));
    CHECK_FALSE(is_local(endpoint::ip("*", 80)));
}

} // namespace rota::http
