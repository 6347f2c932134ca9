#include <rota/http/cookie.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/request.hpp>
#include <rota/http/response.hpp>

#include "request_parser.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

/// A request with these fields.
struct with_fields {
    explicit with_fields(const std::string& fields)
        : bytes("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n") {
        REQUIRE(parser.feed(bytes).event == parse_event::head);
    }
    const parser_limits limits;
    std::string bytes;
    request_parser parser{limits};
    request req{parser.head(), nullptr};
};

/// "name=value|name=value|".
std::string read(const std::string& fields) {
    const with_fields from(fields);
    std::string all;
    for (const request_cookie& each : from.req.cookies())
        all.append(each.name).append("=").append(each.value).append("|");
    return all;
}

std::string refused(const cookie& one) {
    try {
        return one.to_string();
    } catch (const std::invalid_argument& e) {
        return "refused";
    }
}

TEST_CASE("cookies come in order, however often a name is there") {
    CHECK(read("").empty());
    CHECK(read("Cookie:\r\n").empty());
    CHECK(read("Cookie: a=1\r\n") == "a=1|");
    CHECK(read("Cookie: a=1; b=2; a=3\r\ncookie: c=4\r\nX: d=5\r\nCOOKIE: a=6\r\n") ==
          "a=1|b=2|a=3|c=4|a=6|");
}

TEST_CASE("cookies are parted at semicolons, and trimmed") {
    CHECK(read("Cookie: a=1;b=2;;; c = 3 ;\td\t=\t4;\r\n") == "a=1|b=2|c=3|d=4|");
    CHECK(read("Cookie: ;\r\n").empty());
    CHECK(read("Cookie: a=b=c; d==; =e; f; =; g=\r\n") == "a=b=c|d==|=e|=f|=|g=|");
    CHECK(read("Cookie: a=\"1 2\"; b=\"3;4\"; c=1,2\r\n") == "a=\"1 2\"|b=\"3|=4\"|c=1,2|");
    CHECK(read("Cookie: $Version=1; a=x y; \xc3\xa4=\xff\r\n") ==
          "$Version=1|a=x y|\xc3\xa4=\xff|");
}

TEST_CASE("one cookie by its name") {
    const with_fields from("Cookie: a=1; b=\r\nCookie: a=2; c=3; nameless\r\n");
    CHECK(from.req.cookie("a") == "1");
    CHECK(from.req.cookie("b") == "");
    CHECK(from.req.cookie("c") == "3");
    CHECK(from.req.cookie("") == "nameless");
    CHECK_FALSE(from.req.cookie("A"));
}

TEST_CASE("a cookie with all its attributes") {
    cookie one{.name = "id", .value = "v"};
    CHECK(one.to_string() == "id=v");
    one.expires = std::chrono::sys_seconds(784'111'777s);
    one.max_age = 60s;
    one.domain = "a.example";
    one.path = "/x, y";
    one.secure = one.http_only = one.partitioned = true;
    one.same_site = same_site::none;
    CHECK(one.to_string() == "id=v; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=60; "
                             "Domain=a.example; Path=/x, y; Secure; HttpOnly; SameSite=None; "
                             "Partitioned");
    CHECK(cookie{.name = "a", .same_site = same_site::lax}.to_string() == "a=; SameSite=Lax");
    CHECK(cookie{.name = "a", .same_site = same_site::strict}.to_string() == "a=; SameSite=Strict");
}

TEST_CASE("a cookie is taken away again") {
    const cookie one{.name = "__Host-a", .value = "v", .path = "/", .secure = true};
    CHECK(one.removed().to_string() == "__Host-a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; "
                                       "Max-Age=0; Path=/; Secure");
}

TEST_CASE("answers set cookies, one field each") {
    response answer;
    answer.set_cookie({.name = "a", .value = "1"}).set_cookie({.name = "b", .value = "2"});
    CHECK(answer.headers().wire() == "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
    CHECK_THROWS_AS(answer.set_cookie({.name = "c", .value = "1\r\nX: y"}), std::invalid_argument);
    CHECK(answer.headers().wire() == "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
    const response other = response(204).set_cookie({.name = "a"});
    CHECK(other.headers().find("Set-Cookie") == "a=");
}

TEST_CASE("names and values that must not be in a cookie") {
    CHECK(cookie{.name = "!#$%&'*+-.^_`|~09azAZ"}.to_string() == "!#$%&'*+-.^_`|~09azAZ=");
    for (const std::string& name :
         {std::string(), std::string("a b"), std::string("a=b"), std::string("a;b"),
          std::string("a,b"), std::string("\"a\""), std::string("a\r\n"), std::string("a\0", 2),
          std::string("\xc3\xa4"), std::string("a:b"), std::string("[a]")})
        CHECK(refused({.name = name}) == "refused");
    std::string allowed;
    for (int byte = 0; byte < 256; ++byte) {
        const std::string value(1, static_cast<char>(byte));
        if (refused({.name = "a", .value = value}) != "refused")
            allowed += value;
    }
    std::string octets;
    for (char c = '!'; c <= '~'; ++c) {
        if (std::string_view("\",;\\").find(c) == std::string_view::npos)
            octets += c;
    }
    CHECK(allowed == octets);
    CHECK(refused({.name = "a", .value = "\"quoted\""}) == "a=\"quoted\"");
    CHECK(refused({.name = "a", .value = "\"\""}) == "a=\"\"");
    for (const char* const value : {"\"", "\"a", "a\"", "\"a\"b\"", "\"a b\"", "\"a;b\"", "a\tb"})
        CHECK(refused({.name = "a", .value = value}) == "refused");
}

TEST_CASE("attributes that must not be in a cookie") {
    for (const char* const domain : {"a", "a.b", "xn--4ca.example", "A-b.c9", "10.0.0.1"})
        CHECK(refused({.name = "a", .domain = domain}) == "a=; Domain=" + std::string(domain));
    for (const std::string& domain :
         {std::string("."), std::string(".a"), std::string("a."), std::string("a..b"),
          std::string("-a"), std::string("a-"), std::string("a b"), std::string("a;b"),
          std::string("a/b"), std::string("a_b"), std::string("\xc3\xa4"), std::string(64, 'a'),
          std::string("a\r\n")})
        CHECK(refused({.name = "a", .domain = domain}) == "refused");
    std::string labels;
    for (int i = 0; i < 126; ++i)
        labels += "a.";
    CHECK(refused({.name = "a", .domain = labels + "a"}) != "refused");
    CHECK(refused({.name = "a", .domain = labels + "aa"}) == "refused");
    for (const std::string& path :
         {std::string("a"), std::string("a/"), std::string("/;"), std::string("/; Secure"),
          std::string("/\r\n"), std::string("/\t"), std::string("/\x7f"), std::string("/\xc3\xa4"),
          std::string("/ "), std::string("/\0", 2)})
        CHECK(refused({.name = "a", .path = path}) == "refused");
    CHECK(refused({.name = "a", .max_age = 0s}) == "a=; Max-Age=0");
    CHECK(refused({.name = "a", .max_age = -1s}) == "refused");
    using namespace std::chrono;
    const sys_seconds first = sys_days(year(1601) / 1 / 1);
    const sys_seconds last = sys_seconds(sys_days(year(10'000) / 1 / 1)) - 1s;
    CHECK(refused({.name = "a", .expires = first}) == "a=; Expires=Mon, 01 Jan 1601 00:00:00 GMT");
    CHECK(refused({.name = "a", .expires = last}) == "a=; Expires=Fri, 31 Dec 9999 23:59:59 GMT");
    CHECK(refused({.name = "a", .expires = first - 1s}) == "refused");
    CHECK(refused({.name = "a", .expires = last + 1s}) == "refused");
    CHECK(refused({.name = "a", .expires = sys_seconds::max()}) == "refused");
}

TEST_CASE("cookies that are too long") {
    const std::string name(96, 'n');
    const std::string value(4'000, 'v');
    CHECK(refused({.name = name, .value = value}) == name + '=' + value);
    CHECK(refused({.name = name, .value = value + 'v'}) == "refused");
    CHECK(refused({.name = name + 'n', .value = value}) == "refused");
    const std::string path = '/' + std::string(1'023, 'p');
    CHECK(refused({.name = "a", .path = path}) == "a=; Path=" + path);
    CHECK(refused({.name = "a", .path = path + 'p'}) == "refused");
}

TEST_CASE("cookies that browsers refuse") {
    CHECK(refused({.name = "a", .same_site = same_site::none}) == "refused");
    CHECK(refused({.name = "a", .secure = true, .same_site = same_site::none}) ==
          "a=; Secure; SameSite=None");
    CHECK(refused({.name = "a", .partitioned = true}) == "refused");
    for (const char* const name : {"__Secure-a", "__secure-a", "__SECURE-"}) {
        CHECK(refused({.name = name}) == "refused");
        CHECK(refused({.name = name, .domain = "a.b", .secure = true}) != "refused");
    }
    for (const char* const name : {"__Host-a", "__host-a", "__HOST-"}) {
        CHECK(refused({.name = name, .path = "/"}) == "refused");
        CHECK(refused({.name = name, .secure = true}) == "refused");
        CHECK(refused({.name = name, .path = "/a", .secure = true}) == "refused");
        CHECK(refused({.name = name, .domain = "a.b", .path = "/", .secure = true}) == "refused");
        CHECK(refused({.name = name, .path = "/", .secure = true}) != "refused");
    }
    for (const char* const name : {"__Http-a", "__http-a", "__HTTP-"}) {
        CHECK(refused({.name = name, .secure = true}) == "refused");
        CHECK(refused({.name = name, .http_only = true}) == "refused");
        CHECK(refused({.name = name, .domain = "a.b", .secure = true, .http_only = true}) !=
              "refused");
    }
    for (const char* const name : {"__Host-Http-a", "__host-http-a", "__HOST-HTTP-"}) {
        CHECK(refused({.name = name, .path = "/", .secure = true}) == "refused");
        CHECK(refused({.name = name, .secure = true, .http_only = true}) == "refused");
        CHECK(refused({.name = name, .path = "/", .secure = true, .http_only = true}) != "refused");
    }
    CHECK(refused({.name = "__Http"}) == "__Http=");
    CHECK(refused({.name = "__Host-Http", .path = "/", .secure = true}) != "refused");
    CHECK(refused({.name = "__Hosta"}) == "__Hosta=");
    CHECK(refused({.name = "__Secure"}) == "__Secure=");
}

} // namespace
} // namespace rota::http
