#include <rota/http/request_id.hpp>

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

router named(request_id_options options = {}) {
    router routes;
    routes.use(request_id(std::move(options)));
    routes.get("/", [](const request& r) { return response::text(std::string(r.id())); })
        .get("/own", [](const request&) { return response(204).header("X-Request-Id", "own"); })
        .get("/throws", [](const request&) -> response { throw http_error(418, "no coffee"); })
        .get("/stream", [](const request& r) {
            return response::stream([&r](body_writer& out) -> task<void> {
                const std::string id(r.id());
                co_await out.write(id);
            });
        });
    return routes;
}

std::string get(std::string_view path, std::string_view fields = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

/// The values of the field in an answer, one behind the other.
std::string said(const std::string& answer) {
    std::string all;
    const std::string name = "X-Request-Id: ";
    for (std::size_t at = answer.find(name); at != std::string::npos;
         at = answer.find(name, at + 1))
        all += answer.substr(at + name.size(), answer.find("\r\n", at) - at - name.size());
    return all;
}

} // namespace

TEST_CASE("a request has the id that it came with, if that is well-formed, else a new one") {
    test::session_driver s(named());
    for (const std::string& id :
         {std::string("a"), std::string("7f0c-Ab.9_~+/=:@"), std::string(128, 'x')}) {
        const std::string answer = s.exchange(get("/", "x-request-id: " + id + "\r\n"));
        CHECK(said(answer) == id);
        CHECK(answer.ends_with("\r\n\r\n" + id));
    }
    for (const std::string& wrong :
         {std::string(), std::string("a b"), std::string("a\"b"), std::string("a\\b"),
          std::string("<b>"), std::string("a,b"), std::string("\xc3\xa4"), std::string("a;b"),
          std::string("a%0d"), std::string(129, 'x')}) {
        CAPTURE(wrong);
        const std::string answer = s.exchange(get("/", "X-Request-Id: " + wrong + "\r\n"));
        CHECK(said(answer).size() == 32);
        CHECK(said(answer).find_first_not_of("0123456789abcdef") == std::string::npos);
        CHECK(answer.ends_with("\r\n\r\n" + said(answer)));
    }
    for (const std::string& two : {std::string("X-Request-Id: a\r\nX-Request-Id: b\r\n"),
                                   std::string("X-Request-Id:\r\nX-Request-Id: b\r\n"),
                                   std::string("X-Request-Id: a\r\nX-Request-Id:\r\n")})
        CHECK(said(s.exchange(get("/", two))).size() == 32);
    std::set<std::string> different;
    for (int i = 0; i < 100; ++i)
        different.insert(said(s.exchange(get("/"))));
    CHECK(different.size() == 100);
}

TEST_CASE("whoever answers, the id is said once") {
    test::session_driver s(named());
    const std::string id = "X-Request-Id: abc\r\n";
    CHECK(said(s.exchange(get("/none", id))) == "abc");
    CHECK(said(s.exchange("POST / HTTP/1.1\r\nHost: a\r\n" + id + "\r\n")) == "abc");
    const std::string thrown = s.exchange(get("/throws", id));
    CHECK(thrown.starts_with("HTTP/1.1 418 "));
    CHECK(said(thrown) == "abc");
    CHECK(said(s.exchange(get("/own", id))) == "own");
    const std::string streamed = s.exchange(get("/stream", id));
    CHECK(said(streamed) == "abc");
    CHECK(streamed.ends_with("\r\n3\r\nabc\r\n0\r\n\r\n"));
}

TEST_CASE("of strangers no id is taken, and the field may have another name") {
    test::session_driver strict(named({.from = io::network_list({"10.0.0.0/8"})}));
    CHECK(said(strict.exchange(get("/", "X-Request-Id: abc\r\n"))).size() == 32);
    test::session_driver other(named({.field = "X-Correlation"}));
    CHECK(other.exchange(get("/", "X-Correlation: abc\r\n")).find("X-Correlation: abc\r\n") !=
          std::string::npos);
    for (const char* const none : {"a b", "", "Content-Length", "transfer-encoding", "Connection",
                                   "Keep-Alive", "DATE", "Host", "TE", "Trailer", "Upgrade"}) {
        CAPTURE(none);
        CHECK_THROWS_AS(request_id({.field = none}), std::invalid_argument);
    }
}

} // namespace rota::http
