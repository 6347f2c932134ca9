#include <rota/http/cors.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>

#include "answered.hpp"

namespace rota::http {
namespace {

using test::ask;

const std::string app = "Origin: https://app.example\r\n";
const std::string evil = "Origin: https://evil.example\r\n";
const std::string asks = "Access-Control-Request-Method: PUT\r\n"
                         "Access-Control-Request-Headers: x-a, x-b, <b>\r\n";

router open_to(cors_options options) {
    router routes;
    routes.use(cors(std::move(options)));
    routes.get("/", [] { return response::text("x"); })
        .get("/varies", [] { return response(200).header("Vary", "Accept"); })
        .get("/throws", []() -> response { throw http_error(500, ""); })
        .put("/", [] { return response(204); });
    return routes;
}

cors_options some() {
    return {.origins = {"https://app.example"},
            .methods = {"GET", "PUT"},
            .fields = {"X-A"},
            .exposed = {"X-Request-Id"}};
}

} // namespace

TEST_CASE("answers say which origin may read them") {
    test::session_driver s(open_to(some()));
    for (const char* const line : {"GET /", "GET /none", "GET /throws", "PUT /", "POST /"}) {
        CAPTURE(line);
        const auto got = ask(s, line, app);
        CHECK(got.field("Access-Control-Allow-Origin") == "https://app.example");
        CHECK(got.field("Access-Control-Expose-Headers") == "X-Request-Id");
        CHECK(got.field("Access-Control-Allow-Credentials") == "-");
        CHECK(got.field("Vary") == "Origin");
    }
    for (const std::string& fields :
         {evil, std::string(), std::string("Origin: null\r\n"), app + app,
          std::string("Origin: https://app.example.evil\r\n"),
          std::string("Origin: HTTPS://app.example\r\n")}) {
        CAPTURE(fields);
        const auto got = ask(s, "GET /", fields);
        CHECK(got.status() == "200");
        CHECK(got.field("Access-Control-Allow-Origin") == "-");
        CHECK(got.field("Vary") == "Origin");
    }
    CHECK(ask(s, "GET /varies", app).field("Vary") == "Accept, Origin");
}

TEST_CASE("a preflight is answered before any handler") {
    test::session_driver s(open_to(some()));
    const auto got = ask(s, "OPTIONS /", app + asks);
    CHECK(got.status() == "204");
    CHECK(got.field("Access-Control-Allow-Origin") == "https://app.example");
    CHECK(got.field("Access-Control-Allow-Methods") == "GET, PUT");
    CHECK(got.field("Access-Control-Allow-Headers") == "X-A");
    CHECK(got.field("Access-Control-Max-Age") == "600");
    CHECK(got.field("Vary") ==
          "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
    CHECK(got.field("Access-Control-Expose-Headers") == "-");
    const auto refused = ask(s, "OPTIONS /", evil + asks);
    CHECK(refused.status() == "403");
    CHECK(refused.field("Access-Control-Allow-Origin") == "-");
    CHECK(refused.field("Access-Control-Allow-Methods") == "-");
    const auto plain = ask(s, "OPTIONS /", app); // no preflight: the router's
    CHECK(plain.field("Allow") == "GET, HEAD, PUT, OPTIONS");
    CHECK(plain.field("Access-Control-Allow-Methods") == "-");
}

TEST_CASE("all origins, with whatever fields they ask for") {
    test::session_driver s(
        open_to({.origins = {"*"}, .fields = {"*"}, .exposed = {"X-Request-Id"}}));
    // A cache may give any page what another page, or none, has asked for.
    for (const std::string& fields : {evil, std::string(), evil + app}) {
        CAPTURE(fields);
        for (const char* const line : {"GET /", "GET /none", "GET /throws"}) {
            CAPTURE(line);
            const auto got = ask(s, line, fields);
            CHECK(got.field("Access-Control-Allow-Origin") == "*");
            CHECK(got.field("Access-Control-Expose-Headers") == "X-Request-Id");
            CHECK(got.field("Vary") == "-");
        }
    }
    const auto got = ask(s, "OPTIONS /", evil + asks);
    CHECK(got.field("Access-Control-Allow-Origin") == "*");
    CHECK(got.field("Access-Control-Allow-Headers") == "x-a, x-b");
    const auto spread =
        ask(s, "OPTIONS /", evil + asks + "Access-Control-Request-Headers: x-c\r\n");
    CHECK(spread.field("Access-Control-Allow-Headers") == "x-a, x-b, x-c");
}

TEST_CASE("origins by a function, with cookies") {
    test::session_driver s(
        open_to({.allowed = [](std::string_view origin) { return origin.ends_with("app.example"); },
                 .credentials = true}));
    const auto got = ask(s, "GET /", app);
    CHECK(got.field("Access-Control-Allow-Origin") == "https://app.example");
    CHECK(got.field("Access-Control-Allow-Credentials") == "true");
    CHECK(ask(s, "GET /", evil).field("Access-Control-Allow-Credentials") == "-");
}

TEST_CASE("credentials never go with an origin that they are not for") {
    const cors_options with_cookies{.origins = {"https://app.example"}, .credentials = true};
    router inner;
    inner.use(cors(with_cookies));
    inner.get("/", [] { return response::text("x"); }).get("/own", [] {
        return response::text("x").header("Access-Control-Allow-Origin", "*");
    });
    router outer;
    outer.use(cors({.origins = {"*"}, .exposed = {"X-A"}})).mount("/in", std::move(inner));
    test::session_driver s(std::move(outer));
    for (const char* const line : {"GET /in/", "GET /in/none"}) {
        CHECK(ask(s, line, app).field("Access-Control-Allow-Origin") == "https://app.example");
        CHECK(ask(s, line, app).field("Access-Control-Allow-Credentials") == "true");
        CHECK(ask(s, line, app).field("Access-Control-Expose-Headers") == "-");
        CHECK(ask(s, line, evil).field("Access-Control-Allow-Origin") == "-");
    }
    CHECK(ask(s, "GET /in/own", app).field("Access-Control-Allow-Origin") == "*");
    CHECK(ask(s, "GET /in/own", app).field("Access-Control-Allow-Credentials") == "-");
    CHECK(ask(s, "GET /none", app).field("Access-Control-Allow-Origin") == "*");
    CHECK(ask(s, "GET /none", app).field("Access-Control-Allow-Credentials") == "-");

    router open;
    open.use(cors({.origins = {"*"}}));
    open.get("/", [] { return response::text("x"); });
    router closed;
    closed.use(cors(with_cookies)).mount("/open", std::move(open));
    test::session_driver t(std::move(closed));
    CHECK(ask(t, "GET /open/", app).field("Access-Control-Allow-Origin") == "*");
    CHECK(ask(t, "GET /open/", app).field("Access-Control-Allow-Credentials") == "-");
}

TEST_CASE("what makes no sense is refused") {
    CHECK_THROWS_AS(cors({.origins = {"*"}, .max_age = std::chrono::seconds(-1)}),
                    std::invalid_argument);
    CHECK_THROWS_AS(cors({.origins = {"*"}, .credentials = true}), std::invalid_argument);
    const std::string page = "https://app.example";
    CHECK_THROWS_AS(cors({.origins = {page, "null"}, .credentials = true}), std::invalid_argument);
    CHECK_THROWS_AS(cors({.origins = {page}, .methods = {"GET", "*"}, .credentials = true}),
                    std::invalid_argument);
    CHECK_THROWS_AS(cors({.origins = {page}, .exposed = {"*"}, .credentials = true}),
                    std::invalid_argument);
    CHECK_NOTHROW(cors({.origins = {page}, .fields = {"*"}, .credentials = true}));
    CHECK_NOTHROW(cors({.origins = {page}, .methods = {"*"}, .exposed = {"*"}}));
    CHECK_THROWS_AS(cors({.exposed = {"X-A"}}), std::invalid_argument); // for nobody
    for (const char* none : {"",
                             "a b",
                             "app.example",
                             "https://",
                             "https://app.example/",
                             "https://app.example/a",
                             "HTTPS://app.example",
                             "https://App.example",
                             "https://a@app.example",
                             "https:app.example",
                             "https://app.example:",
                             "https://app.example:65536",
                             "https://app.example:x",
                             "https://app.example:443",
                             "http://app.example:80",
                             "https://app.example:0443",
                             "https://b\xc3\xbc",
                             "https://[::1",
                             "://app.example",
                             "1a://b",
                             "https://*.example",
                             "https://a?b",
                             "https://a,https://b",
                             "ws://app.example",
                             "wss://app.example",
                             "http://127.1",
                             "http://[::1.2.3.4]:8080"}) {
        CAPTURE(none);
        CHECK_THROWS_AS(cors({.origins = {none}}), std::invalid_argument);
    }
    for (const char* origin :
         {"https://app.example", "http://localhost:8080", "http://127.0.0.1", "https://[::1]:8443",
          "http://app.example:443", "null", "chrome-extension://abcdef", "app+x-1.y://a_b"}) {
        CAPTURE(origin);
        CHECK_NOTHROW(cors({.origins = {origin}}));
    }
    CHECK_THROWS_AS(cors({.methods = {"G T"}}), std::invalid_argument);
    CHECK_THROWS_AS(cors({.exposed = {"X\r\nY"}}), std::invalid_argument);
}

} // namespace rota::http
