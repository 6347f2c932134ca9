#include <rota/http/session_cookie.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "request_parser.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

const std::string key(32, 'k');

struct asked {
    explicit asked(const std::string& cookies)
        : bytes("GET / HTTP/1.1\r\nHost: a\r\nCookie: " + cookies + "\r\n\r\n") {
        REQUIRE(parser.feed(bytes).event == parse_event::head);
    }
    const parser_limits limits;
    std::string bytes;
    request_parser parser{limits};
    request req{parser.head(), nullptr};
};

/// "name=value" of what is set.
std::string pair_of(const response& answer) {
    const std::string_view field = answer.headers().find("Set-Cookie").value();
    return std::string(field.substr(0, field.find(';')));
}

TEST_CASE("a session comes back from where it was kept") {
    for (const auto kind : {session_cookie::kind::sealed, session_cookie::kind::signed_only}) {
        const session_cookie session(crypto::seal({key}), 1h, session_cookie::usual(), kind);
        response answer;
        session.write(answer, "ann; \"1\"");
        const std::string_view field = answer.headers().find("Set-Cookie").value();
        CHECK(field.starts_with("__Host-session="));
        CHECK(field.ends_with("; Max-Age=3600; Path=/; Secure; HttpOnly; SameSite=Lax"));
        CHECK(session.read(asked(pair_of(answer)).req) == "ann; \"1\"");
        CHECK(session.read(asked("a=1; __Host-session=x; " + pair_of(answer)).req) == "ann; \"1\"");
        CHECK_FALSE(session.read(asked("a=1").req));
        CHECK_FALSE(session.read(asked(pair_of(answer) + "A").req));
    }
}

TEST_CASE("a session of another name or key is none") {
    const session_cookie one(crypto::seal({key}), 1h, {.name = "one"});
    const session_cookie two(crypto::seal({key}), 1h, {.name = "two"});
    const session_cookie other(crypto::seal({std::string(32, 'o')}), 1h, {.name = "one"});
    response answer;
    one.write(answer, "ann");
    const std::string value = pair_of(answer).substr(4);
    CHECK(one.read(asked("one=" + value).req) == "ann");
    CHECK_FALSE(two.read(asked("two=" + value).req));
    CHECK_FALSE(other.read(asked("one=" + value).req));
}

TEST_CASE("four of a name are tried") {
    const session_cookie session(crypto::seal({key}), 1h);
    response answer;
    session.write(answer, "ann");
    const std::string bad = "__Host-session=x; ";
    CHECK(session.read(asked(bad + bad + bad + pair_of(answer)).req) == "ann");
    CHECK_FALSE(session.read(asked(bad + bad + bad + bad + pair_of(answer)).req));
}

TEST_CASE("a session is forgotten") {
    const session_cookie session(crypto::seal({key}), 1h);
    response answer;
    session.clear(answer);
    CHECK(answer.headers().find("Set-Cookie") ==
          "__Host-session=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/; Secure; "
          "HttpOnly; SameSite=Lax");
    CHECK_FALSE(session.read(asked(pair_of(answer)).req));
}

TEST_CASE("what does not fit, or must not be in a cookie") {
    const session_cookie session(crypto::seal({key}), 1h);
    response answer;
    session.write(answer, std::string(3'000, 'x'));
    CHECK_THROWS_AS(session.write(answer, std::string(3'100, 'x')), std::invalid_argument);
    CHECK_THROWS_AS(session_cookie(crypto::seal({key}), 1h, {.name = "a b"}),
                    std::invalid_argument);
    CHECK_THROWS_AS(session_cookie(crypto::seal({key}), 1h, {.name = "__Host-a"}),
                    std::invalid_argument);
    CHECK_THROWS_AS(session_cookie(crypto::seal({key}), 0s), std::invalid_argument);
}

} // namespace
} // namespace rota::http
