#include <rota/http/request.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/http/detail/router_access.hpp>
#include <rota/http/router.hpp>
#include <rota/when_all.hpp>
#include <rota/with_timeout.hpp>

#include "request_parser.hpp"
#include "session_driver.hpp"

namespace rota::http {
namespace {

/// A request made of bytes, routed.
struct parsed {
    explicit parsed(std::string target, const router& routes = {})
        : bytes("GET " + std::move(target) + " HTTP/1.1\r\nHost: h:1\r\nX-A: 1\r\nx-a: 2\r\n\r\n") {
        REQUIRE(parser.feed(bytes).event == parse_event::head);
        router_access::resolve(routes, req, found);
    }
    const parser_limits limits;
    std::string bytes;
    request_parser parser{limits};
    request req{parser.head(), nullptr};
    route_match found;
};

TEST_CASE("a request shows its parts") {
    const parsed p("/a%20b/%2e?q=1");
    CHECK(p.req.method() == method::get);
    CHECK(p.req.version_minor() == 1);
    CHECK(p.req.target() == "/a%20b/%2e?q=1");
    CHECK(p.req.raw_path() == "/a%20b/%2e");
    CHECK(p.req.path() == "/a b/.");
    CHECK(p.req.query_string() == "q=1");
    CHECK(p.req.host() == "h:1");
    CHECK(p.req.header("X-a") == "1");
    CHECK_FALSE(p.req.header("X-b"));
    CHECK(p.req.headers().size() == 3);
    CHECK(parsed("http://other:2").req.path() == "/");
    CHECK(parsed("http://other:2?x").req.path() == "/");
    CHECK(parsed("http://other:2?x").req.host() == "other:2");
}

TEST_CASE("query parameters are decoded") {
    const parsed p("/?a=1&b=x+y%26z&a=2&empty=&&bare&%6e%3D=%zz%4&=v");
    CHECK(p.req.query("a") == "1");
    CHECK(p.req.query("b") == "x y&z");
    CHECK(p.req.query("empty") == "");
    CHECK(p.req.query("bare") == "");
    CHECK(p.req.query("n=") == "%zz%4");
    CHECK_FALSE(p.req.query("c"));
    const std::vector<std::pair<std::string, std::string>> all{
        {"a", "1"},   {"b", "x y&z"},  {"a", "2"}, {"empty", ""},
        {"bare", ""}, {"n=", "%zz%4"}, {"", "v"}};
    CHECK(p.req.query_parameters() == all);
    CHECK_FALSE(parsed("/").req.query("a"));
    CHECK(parsed("/?").req.query_parameters().empty());
}

TEST_CASE("path parameters are decoded once, and an encoded slash separates nothing") {
    router routes;
    const auto ok = [] { return response(); };
    routes.get("/hello/{name}", ok).get("/files/{path...}", ok).get("/two/{a}/{b}", ok);
    struct expectation {
        std::string target;
        std::string_view name;
        std::string_view value;
    };
    for (const expectation& row : std::vector<expectation>{
             {"/hello/ann", "name", "ann"},
             {"/h%65llo/ann", "name", "ann"},
             {"/hello/J%C3%BCrgen%20M", "name", "J\xc3\xbcrgen M"},
             {"/hello/a%2Fb", "name", "a/b"},
             {"/hello/a%252Fb", "name", "a%2Fb"},
             {"/hello/a+b", "name", "a+b"},
             {"/files/x/..%2f..%2Fy", "path", "x/../../y"},
             {"/two/%2F/%2f%2f", "b", "//"},
             {"http://x/hello/ann?name=b", "name", "ann"},
         }) {
        CAPTURE(row.target);
        const parsed p(row.target, routes);
        REQUIRE(p.found.target != nullptr);
        CHECK(p.req.param(row.name) == row.value);
        CHECK_THROWS_AS(p.req.param("other"), std::out_of_range);
    }
    CHECK(parsed("/hello%2Fann", routes).found.target == nullptr);
    CHECK(parsed("/hello%2Fann", routes).req.path() == "/hello/ann");
}

TEST_CASE("a kept head moves and takes the parameters along") {
    router routes;
    routes.get("/hello/{name}", [] { return response(); });
    parsed p("/hello/ann", routes);
    p.parser.keep_head();
    p.bytes.assign(p.bytes.size(), '#');
    CHECK(p.req.param("name") == "ann");
    CHECK(p.req.header("x-a") == "1");
}

TEST_CASE("several may wait for the client's end, and the first may give up") {
    int told = 0;
    event given_up;
    router routes;
    routes.get("/wait", [&](request& req) -> task<response> {
        const auto wait = [&]() -> task<void> {
            co_await req.disconnected();
            ++told;
        };
        const auto wait_a_little = [&]() -> task<void> {
            try {
                co_await with_timeout(100ms, req.disconnected());
            } catch (const timed_out&) {
                given_up.set();
            }
        };
        co_await when_all(wait_a_little(), wait(), wait());
        co_return response::text("nobody hears that");
    });
    test::session_driver s(std::move(routes));
    s.exchange("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    s.advance(100ms);
    CHECK(given_up.is_set());
    CHECK(told == 0);
    s.finish();
    CHECK(told == 2);
    CHECK(s.errors().empty());
    CHECK(s.ended_well());
}

TEST_CASE("a handler that waits can tell that its client has gone") {
    int gone = 0;
    router routes;
    routes.get("/wait", [&gone](request& req) -> task<response> {
        co_await req.disconnected();
        ++gone;
        co_return response::text("nobody hears that");
    });
    const std::string request = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
    SECTION("by its end") {
        test::session_driver s(std::move(routes));
        s.exchange(request);
        CHECK(gone == 0);
        s.finish();
        CHECK(gone == 1);
        CHECK(s.ended_well());
    }
    SECTION("by a failure") {
        test::session_driver s(std::move(routes));
        s.exchange(request);
        s.stream().reset();
        s.scheduler().run();
        CHECK(gone == 1);
        CHECK(s.ended_well());
    }
    SECTION("but not by further requests") {
        test::session_driver s(std::move(routes));
        s.exchange(request);
        s.exchange(request);
        s.exchange(std::string(100'000, 'x'));
        CHECK(gone == 0);
        s.finish();
        CHECK(gone == 0); // too much has come: nobody reads on
    }
}

} // namespace
} // namespace rota::http
