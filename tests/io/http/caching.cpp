#include <rota/http/caching.hpp>

#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "answered.hpp"

namespace rota::http {
namespace {

using test::ask;

router tagged() {
    router routes;
    routes.use(etag(10));
    routes.get("/", [] { return response::text("content").header("Vary", "Accept"); })
        .get("/long", [] { return response::text("longer than that"); })
        .get("/own", [] { return response::text("x").header("ETag", "\"own\""); })
        .get("/made", [] { return response::text("x").status(201); })
        .get("/stream",
             [] {
                 return response::stream(
                     [](body_writer& out) -> task<void> { co_await out.write("x"); });
             })
        .post("/", [] { return response::text("content"); });
    return routes;
}

} // namespace

TEST_CASE("small answers have a tag, and are not sent twice") {
    test::session_driver s(tagged());
    const auto first = ask(s, "GET /");
    const std::string tag = first.field("ETag");
    CHECK(tag == content_tag("content"));
    CHECK(tag.size() == 34);
    CHECK(first.content() == "content");
    const auto again = ask(s, "GET /", "If-None-Match: \"x\", W/" + tag + "\r\n");
    CHECK(again.status() == "304");
    CHECK(again.field("ETag") == tag);
    CHECK(again.field("Vary") == "Accept");
    CHECK(again.field("Content-Type") == "-");
    CHECK(again.content().empty());
    CHECK(ask(s, "HEAD /", "If-None-Match: *\r\n").status() == "304");
    CHECK(ask(s, "GET /", "If-None-Match: \"x\"\r\n").status() == "200");
    CHECK(ask(s, "GET /", "If-Match: \"x\"\r\n").status() == "412");
    CHECK(ask(s, "GET /", "If-Match: " + tag + "\r\n").status() == "200");
    CHECK(ask(s, "HEAD /").field("ETag") == tag);
}

TEST_CASE("what is not sent, for a condition, says what it stands for") {
    bool coded = false;
    const auto look = [&](request& req, next proceed) -> task<response> {
        response answer = co_await proceed(req);
        const response::representation* const whole = answer.stands_for();
        answer.header("Stands-For", whole == nullptr ? "nothing" : whole->content_type + ".");
        co_return std::move(answer);
    };
    router routes;
    routes.use(look).use(etag());
    routes.get("/", [&] {
        response answer = response::with_body("x", "a/b");
        if (coded)
            answer.header("Content-Encoding", "gzip");
        return answer;
    });
    test::session_driver s(std::move(routes));
    for (const char* const condition : {"If-None-Match: *\r\n", "If-Match: \"x\"\r\n"}) {
        coded = false;
        CHECK(ask(s, "GET /", condition).field("Stands-For") == "a/b.");
        coded = true;
        CHECK(ask(s, "GET /", condition).field("Stands-For") == ".");
    }
    CHECK(ask(s, "GET /").field("Stands-For") == "nothing");
}

TEST_CASE("a precondition that fails has the page of errors") {
    router routes;
    routes.use(etag(10, [](int status, std::string_view) {
        return response::text("page of " + std::to_string(status));
    }));
    routes.get("/", [] { return response::text("x"); });
    test::session_driver s(std::move(routes));
    const auto refused = ask(s, "GET /", "If-Match: \"x\"\r\n");
    CHECK(refused.status() == "412");
    CHECK(refused.text.ends_with("\r\npage of 412"));
    CHECK(ask(s, "GET /").status() == "200");
}

TEST_CASE("what is empty, or left out for HEAD, has no tag") {
    router routes;
    routes.use(etag());
    routes.get("/", [] { return response::text("x"); })
        .head("/", [] { return response::text(""); })
        .get("/empty", [] { return response::text(""); });
    test::session_driver s(std::move(routes));
    CHECK(ask(s, "GET /").field("ETag") != "-");
    CHECK(ask(s, "HEAD /").field("ETag") == "-");
    for (const char* const line : {"GET /empty", "HEAD /empty"}) {
        CHECK(ask(s, line).field("ETag") == "-");
        CHECK(ask(s, line, "If-None-Match: *\r\n").status() == "200");
    }
}

TEST_CASE("the tag of what is coded is weak, and a 304 says nothing of the content") {
    router routes;
    routes.use(etag());
    routes.get("/", [] {
        return response::text("x")
            .header("Content-Encoding", "gzip")
            .header("Content-Language", "en")
            .header("Content-Disposition", "attachment")
            .header("Content-Location", "/x.en")
            .header("Expires", "0");
    });
    test::session_driver s(std::move(routes));
    const std::string tag = ask(s, "GET /").field("ETag");
    CHECK(tag == "W/" + content_tag("x"));
    CHECK(ask(s, "GET /", "If-Match: " + tag + "\r\n").status() == "412"); // compares strongly
    const auto again = ask(s, "GET /", "If-None-Match: " + tag + "\r\n");
    CHECK(again.status() == "304");
    for (const char* const gone : {"Content-Type", "Content-Encoding", "Content-Language",
                                   "Content-Disposition", "Content-Length"})
        CHECK(again.field(gone) == "-");
    CHECK(again.field("ETag") == tag);
    CHECK(again.field("Content-Location") == "/x.en");
    CHECK(again.field("Expires") == "0");
}

TEST_CASE("other answers are as they are") {
    test::session_driver s(tagged());
    for (const char* const line : {"GET /long", "GET /made", "GET /stream", "POST /", "GET /none"})
        CHECK(ask(s, line).field("ETag") == "-");
    CHECK(ask(s, "GET /own").field("ETag") == "\"own\"");
    CHECK(content_tag("a") != content_tag("b"));
    CHECK(content_tag("") != content_tag(std::string(1, '\0')));
}

TEST_CASE("how long answers may be kept") {
    router routes;
    routes.use(cache_control("max-age=60"));
    routes.get("/", [] { return response::text("x"); }).get("/own", [] {
        return response::text("x").header("Cache-Control", "no-store");
    });
    test::session_driver s(std::move(routes));
    CHECK(ask(s, "GET /").field("Cache-Control") == "max-age=60");
    CHECK(ask(s, "GET /own").field("Cache-Control") == "no-store");
    CHECK(ask(s, "GET /none").field("Cache-Control") == "-");
    router all;
    all.use(cache_control("no-store", true));
    all.get("/thrown", []() -> response { throw http_error(410, "no more"); }).get("/own", [] {
        return response::text("x").header("Cache-Control", "private");
    });
    test::session_driver t(std::move(all));
    for (const char* const each : {"GET /none", "GET /thrown", "POST /own"})
        CHECK(ask(t, each).field("Cache-Control") == "no-store");
    CHECK(ask(t, "GET /own").field("Cache-Control") == "private");
    router inner;
    inner.use(cache_control("no-store", true));
    inner.get("/", [] { return response::text("x"); }).get("/thrown", []() -> response {
        throw http_error(410, "no more");
    });
    router outer;
    outer.use(cache_control("public, max-age=60", true)).mount("/private", std::move(inner));
    test::session_driver u(std::move(outer));
    for (const char* const each : {"GET /private/", "GET /private/thrown", "GET /private/none"})
        CHECK(ask(u, each).field("Cache-Control") == "no-store");
    CHECK(ask(u, "GET /none").field("Cache-Control") == "public, max-age=60");
    CHECK_THROWS_AS(cache_control("a\r\nX: y"), std::invalid_argument);
}

} // namespace rota::http
