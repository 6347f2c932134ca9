#include <rota/http/security_headers.hpp>

#include <stdexcept>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>
#include <rota/http/trusted_proxies.hpp>

#include "answered.hpp"

namespace rota::http {
namespace {

using test::ask;

task<void> nobody(takeover& /*client*/) { co_return; }

router secured(const security_headers_options& options = {}) {
    router routes;
    routes.use(security_headers(options));
    routes.get("/", [] { return response::text("x"); })
        .get("/own", [] { return response(200).header("X-Frame-Options", "SAMEORIGIN"); })
        .get("/throws", []() -> response { throw http_error(500, ""); })
        .get("/upgrade", [] { return response::upgrade("other", nobody); })
        .get("/tunnel", [] { return response::tunnel(nobody); });
    return routes;
}

} // namespace

TEST_CASE("every answer has them, whoever makes it") {
    test::session_driver s(secured());
    for (const char* const path : {"GET /", "GET /none", "GET /throws", "POST /", "OPTIONS /",
                                   "GET /upgrade", "GET /tunnel"}) {
        const auto got = ask(s, path);
        CAPTURE(path);
        CHECK(got.field("X-Content-Type-Options") == "nosniff");
        CHECK(got.field("X-Frame-Options") == "DENY");
        CHECK(got.field("Content-Security-Policy").starts_with("default-src 'self'; "));
        CHECK(got.field("Referrer-Policy") == "strict-origin-when-cross-origin");
        CHECK(got.field("Permissions-Policy") == "camera=(), geolocation=(), microphone=()");
        CHECK(got.field("Cross-Origin-Opener-Policy") == "same-origin");
        CHECK(got.field("Cross-Origin-Resource-Policy") == "same-origin");
        CHECK(got.field("Strict-Transport-Security") == "-"); // in clear
    }
    CHECK(ask(s, "GET /own").field("X-Frame-Options") == "SAMEORIGIN");
}

TEST_CASE("what is empty is not sent, and what no field can hold is refused") {
    test::session_driver s(secured({.x_frame_options = "", .nosniff = false}));
    const auto got = ask(s, "GET /");
    CHECK(got.field("X-Frame-Options") == "-");
    CHECK(got.field("X-Content-Type-Options") == "-");
    CHECK(got.field("Referrer-Policy") != "-");
    CHECK_THROWS_AS(security_headers({.referrer_policy = "a\r\nX: y"}), std::invalid_argument);
}

} // namespace rota::http
