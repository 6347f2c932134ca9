#include "answer_fields.hpp"

#include <rota/http/detail/request_access.hpp>
#include <rota/http/detail/vary.hpp>

#include <string>

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

TEST_CASE("leave for credentials goes with the origin that it is for") {
    const std::string granted = "Access-Control-Allow-Origin: https://a\r\n"
                                "Access-Control-Allow-Credentials: true\r\n";
    headers none;
    add_missing_fields(none, granted);
    CHECK(none.wire() == granted);
    headers same;
    same.add("access-control-allow-origin", "https://a");
    add_missing_fields(same, granted);
    CHECK(same.find("Access-Control-Allow-Credentials") == "true");
    for (const char* const other : {"*", "https://b", "null"}) {
        headers own;
        own.add("Access-Control-Allow-Origin", other);
        add_missing_fields(own, granted);
        CHECK(own.find("Access-Control-Allow-Origin") == other);
        CHECK(!own.find("Access-Control-Allow-Credentials"));
    }
}

TEST_CASE("what is promised can be taken back") {
    const request_head head;
    request of(head, nullptr);
    withdraw_field(of, "A");
    CHECK(request_access::known_facts(of) == nullptr);
    for (const char* const name : {"A", "B", "a", "AB"})
        promise_field(of, name, "x: A");
    withdraw_field(of, "A");
    CHECK(request_access::facts(of).answer_fields == "B: x: A\r\nAB: x: A\r\n");
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
