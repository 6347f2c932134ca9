#include <rota/http/auth.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "answered.hpp"

namespace rota::http {
namespace {

using test::ask;

router behind_auth(middleware by) {
    router routes;
    routes.use(std::move(by));
    routes.get("/", [](const request& r) { return response::text(std::string(r.user())); });
    return routes;
}

std::string with(std::string_view credentials) {
    return "Authorization: " + std::string(credentials) + "\r\n";
}

} // namespace

TEST_CASE("a user and the password") {
    test::session_driver s(
        behind_auth(basic_auth({.realm = "here",
                                .users = {{"Aladdin", "open sesame"}, {"test", "123\xc2\xa3"}},
                                .check = [](std::string_view name, std::string_view password) {
                                    return name == "hashed" && password == "pw:with:colons";
                                }})));
    CHECK(ask(s, "GET /", with("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")).content() == "Aladdin");
    CHECK(ask(s, "GET /", with("basic  dGVzdDoxMjPCow==")).content() == "test");
    CHECK(ask(s, "GET /", with("Basic aGFzaGVkOnB3OndpdGg6Y29sb25z")).content() == "hashed");
    for (const std::string& wrong :
         {std::string(), with("Basic"), with("Basic "), with("Basic QWxhZGRpbg=="),
          with("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ"), with("Basic QWxhZGRpbjpvcGVuIHNlc2Ft"),
          with("Basic QWxhZGRpbjo="), with("Basic dGVzdDpvcGVuIHNlc2FtZQ=="), with("Basic OnB3"),
          with("Basic AAA="), with("Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
          with("BasicQWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
          with("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==") + with("Basic dGVzdDoxMjPCow==")}) {
        CAPTURE(wrong);
        const auto got = ask(s, "GET /", wrong);
        CHECK(got.status() == "401");
        CHECK(got.field("WWW-Authenticate") == "Basic realm=\"here\", charset=\"UTF-8\"");
    }
    CHECK(ask(s, "GET /none").status() == "401"); // what is not there is not told of either
}

TEST_CASE("a token") {
    test::session_driver s(
        behind_auth(bearer_auth({.check = [](std::string_view token) -> std::optional<std::string> {
            return token == "good" ? std::optional<std::string>("ann") : std::nullopt;
        }})));
    CHECK(ask(s, "GET /", with("Bearer good")).content() == "ann");
    const auto none = ask(s, "GET /");
    CHECK(none.status() == "401");
    CHECK(none.field("WWW-Authenticate") == "Bearer realm=\"rota\"");
    const auto bad = ask(s, "GET /", with("Bearer bad"));
    CHECK(bad.status() == "401");
    CHECK(bad.field("WWW-Authenticate") == "Bearer realm=\"rota\", error=\"invalid_token\"");
    CHECK(ask(s, "GET /", with("Bearer good") + with("Bearer bad")).status() == "401");
}

TEST_CASE("doors that nobody could open, or that could be forged") {
    CHECK_THROWS_AS(basic_auth({}), std::invalid_argument);
    CHECK_THROWS_AS(basic_auth({.users = {{"a:b", "c"}}}), std::invalid_argument);
    CHECK_THROWS_AS(basic_auth({.users = {{"a", ""}}}), std::invalid_argument);
    for (const char* const text : {"a\nb", "a\tb", "a\x7f"}) {
        CHECK_THROWS_AS(basic_auth({.users = {{text, "b"}}}), std::invalid_argument);
        CHECK_THROWS_AS(basic_auth({.users = {{"a", text}}}), std::invalid_argument);
    }
    CHECK_THROWS_AS(basic_auth({.realm = "a\"b", .users = {{"a", "b"}}}), std::invalid_argument);
    CHECK_THROWS_AS(bearer_auth({}), std::invalid_argument);
}

} // namespace rota::http
