#include "answer_fields.hpp"

#include <rota/http/detail/vary.hpp>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {

TEST_CASE("fields are added where there are none of that name") {
    headers to;
    to.add("Content-Type", "text/html");
    to.add("x-frame-options", "SAMEORIGIN");
    add_missing_fields(to, "X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n");
    CHECK(to.wire() == "Content-Type: text/html\r\nx-frame-options: SAMEORIGIN\r\n"
                       "Referrer-Policy: no-referrer\r\n");
    add_missing_fields(to, "");
    CHECK(to.find("Referrer-Policy") == "no-referrer");
}

TEST_CASE("Vary is a list of names, each once") {
    headers to;
    add_to_vary(to, "Origin");
    CHECK(to.find("Vary") == "Origin");
    add_to_vary(to, "origin");
    CHECK(to.find("Vary") == "Origin");
    add_missing_fields(to, "Vary: Accept-Encoding\r\n");
    CHECK(to.find("Vary") == "Origin, Accept-Encoding");
    headers all;
    all.add("Vary", "*");
    add_to_vary(all, "Origin");
    CHECK(all.find("Vary") == "*");
    headers several;
    several.add("Vary", "Accept-Language");
    several.add("X", "y");
    several.add("Vary", "Cookie");
    add_to_vary(several, "Origin");
    CHECK(several.wire() == "X: y\r\nVary: Accept-Language, Cookie, Origin\r\n");
    headers last;
    last.add("Vary", "A");
    last.add("Vary", "*");
    add_to_vary(last, "Origin");
    CHECK(last.wire() == "Vary: A\r\nVary: *\r\n");
}

} // namespace rota::http
