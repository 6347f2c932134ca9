#include <rota/http/values.hpp>

#include <cstdint>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/server.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

enum class color { red, green };

} // namespace

template <>
struct text_value<color> {
    static std::optional<color> parse(std::string_view text) {
        if (text == "red")
            return color::red;
        return text == "green" ? std::optional(color::green) : std::nullopt;
    }
    static std::string expected() { return "red or green"; }
};

namespace {

std::string get(std::string_view target) {
    router routes;
    routes
        .get("/items/{id}",
             [](const request& r) { return response::text(std::to_string(r.param<int>("id"))); })
        .get("/shades/{shade}",
             [](const request& r) {
                 return response::text(r.param<color>("shade") == color::red ? "r" : "g");
             })
        .get("/find",
             [](const request& r) {
                 const int limit = r.query<int>("limit", 20, 1, 100);
                 const auto after = r.query<std::uint64_t>("after");
                 const bool all = r.query<bool>("all", false);
                 return response::text(std::to_string(limit) + (after ? "a" : "-") +
                                       (all ? "all " : " ") + r.query<std::string>("q", "none"));
             })
        .get("/narrow",
             [](const request& r) {
                 return response::text(std::to_string(r.required_query<float>("x")));
             })
        .get("/must", [](const request& r) {
            return response::text(std::to_string(r.required_query<double>("x")));
        });
    test::session_driver s(std::move(routes));
    const std::string answer =
        s.exchange("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return answer.substr(9, 4) + answer.substr(answer.find("\r\n\r\n") + 4);
}

} // namespace

TEST_CASE("parameters of a path are values, or a 400 that says what they should be") {
    CHECK(get("/items/12") == "200 12");
    CHECK(get("/items/-2147483648") == "200 -2147483648");
    CHECK(get("/items/2147483648") == "400 Bad Request: parameter id: expected an integer from "
                                      "-2147483648 to 2147483647, got \"2147483648\"\n");
    for (const char* target : {"/items/abc", "/items/1x", "/items/+1", "/items/%201", "/items/1.0"})
        CHECK(get(target).starts_with("400 Bad Request: parameter id: expected an integer"));
    CHECK(get("/shades/green") == "200 g");
    CHECK(get("/shades/blue") ==
          "400 Bad Request: parameter shade: expected red or green, got \"blue\"\n");
}

TEST_CASE("query parameters are optional, have a default, or have to be there") {
    CHECK(get("/find") == "200 20- none");
    CHECK(get("/find?limit=5&after=1&all=1&q=a+b") == "200 5aall a b");
    CHECK(get("/find?limit=101") ==
          "400 Bad Request: query parameter limit: expected 1 to 100, got \"101\"\n");
    CHECK(get("/find?limit=x") ==
          "400 Bad Request: query parameter limit: expected 1 to 100, got \"x\"\n");
    CHECK(
        get("/find?after=-1")
            .starts_with("400 Bad Request: query parameter after: expected an integer from 0 to"));
    CHECK(get("/find?all=yes") ==
          "400 Bad Request: query parameter all: expected true, false, 1 or 0, got \"yes\"\n");
    CHECK(get("/find?limit=").ends_with("got \"\"\n"));
    CHECK(get("/must?x=0.5") == "200 0.500000");
    CHECK(get("/must") == "400 Bad Request: query parameter x: is missing, expected a number\n");
    CHECK(get("/must?x=nan").starts_with("400 "));
    CHECK(get("/must?x=1e999").starts_with("400 "));
    CHECK(get("/narrow?x=-0.5") == "200 -0.500000");
    CHECK(get("/narrow?x=1e300").starts_with("400 "));
    CHECK(get("/narrow?x=-1e300").starts_with("400 "));
}

TEST_CASE("what came is bounded and escaped") {
    CHECK(get("/items/" + std::string(1000, 'a'))
              .ends_with("got \"" + std::string(40, 'a') + "\"...\n"));
    CHECK(get("/items/%0d%0a%22%c3%28").ends_with("got \"\\r\\n\\\"\xef\xbf\xbd(\"\n"));
}

} // namespace rota::http
