// Fields as HTTP/2 brings them, and the head that they become: see connection.cpp, too.

#include "request_fields.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/sleep.hpp>

#include "client.hpp"

namespace rota::http {
namespace {

using namespace test;

router echoes() {
    router made;
    made.post("/echo", [](const request&, std::string all) { return response::text(all); });
    return made;
}

TEST_CASE("http2: Expect is a list, whose elements may be empty") {
    http2_client c(echoes());
    std::uint32_t stream = 1;
    for (const char* value : {"100-continue,", ", 100-Continue", "100-continue, 100-continue"}) {
        CAPTURE(value);
        c.ask(stream, asking("POST", "/echo", {{"expect", value}}), false);
        REQUIRE(c.answers[stream].heads.size() == 1);
        CHECK(c.answers[stream].heads[0] == std::vector<field>{{":status", "100"}});
        stream += 2;
    }
    for (const char* value : {"", ","}) {
        CAPTURE(value);
        c.ask(stream, asking("POST", "/echo", {{"expect", value}}), false);
        CHECK(c.answers[stream].heads.empty());
        c.content(stream, "now", true);
        CHECK(c.answers[stream].get(":status") == "200");
        stream += 2;
    }
    c.ask(stream, asking("POST", "/echo", {{"expect", "100-continue, x"}}), false);
    CHECK(c.answers[stream].get(":status") == "417");
}

/// A field of 4,000 bytes that enters the table of HPACK, and so often what stands there.
std::string bomb(std::size_t times, bool first) {
    const std::string large = "\x40" + encode({{"x", std::string(4'000, 'v')}}).substr(1);
    return encode(asking("GET", "/")) + (first ? large : std::string(times, '\xbe'));
}

void explode(http2_client& c, std::uint32_t id, std::size_t times) {
    c.send(make_frame(headers_frame, end_headers | end_stream, id, bomb(times, false)));
}

router waits() {
    router made;
    made.get("/", [] { return response::text("here"); })
        .get("/wait", [](request&) -> task<response> {
            co_await sleep_for(std::chrono::hours(1));
            co_return response::text("late");
        });
    return made;
}

TEST_CASE("http2: a section that explodes ends the connection, whatever becomes of its stream") {
    const auto code_of = [](std::size_t times, bool refused, bool trailers) {
        server_limits limits;
        limits.http2.streams_max = 1;
        http2_client c(waits(), limits);
        c.send(make_frame(headers_frame, end_headers | end_stream, 1, bomb(0, true)));
        if (refused)
            c.ask(3, asking("GET", "/wait"));
        if (trailers) {
            c.ask(5, asking("GET", "/"), false);
            c.send(
                make_frame(headers_frame, end_headers | end_stream, 5, std::string(times, '\xbe')));
        } else {
            explode(c, 5, times);
        }
        if (refused && c.goaway() == -1)
            CHECK(c.answers[5].reset == 7);
        return c.goaway();
    };
    for (const bool refused : {false, true}) {
        CAPTURE(refused);
        CHECK(code_of(60, refused, false) == -1);
        CHECK(code_of(70, refused, false) == 11);
    }
    CHECK(code_of(10, false, true) == -1);
    CHECK(code_of(20, false, true) == 11);
}

TEST_CASE("http2: sections that are too large without end are too many") {
    server_limits limits;
    limits.http2.resets_burst = 10;
    http2_client c(waits(), limits);
    c.send(make_frame(headers_frame, end_headers | end_stream, 1, bomb(0, true)));
    std::uint32_t id = 3;
    for (; id < 100 && c.goaway() == -1; id += 2) {
        explode(c, id, 60);
        if (c.goaway() == -1)
            CHECK(c.answers[id].get(":status") == "431");
    }
    CHECK(c.goaway() == 11);
    CHECK(id == 3 + 11 * 2);
}

TEST_CASE("http2: a target is ASCII") {
    http2_client c(echoes());
    std::uint32_t stream = 1;
    for (const char* path : {"/h/\xc3\xa9", "/echo?q=\xff", "/\x80", "/a#b"}) {
        CAPTURE(path);
        c.ask(stream, asking("GET", path));
        CHECK(c.answers[stream].get(":status") == "400");
        stream += 2;
    }
    c.ask(stream, asking("GET", "/h/%c3%a9"));
    CHECK(c.answers[stream].get(":status") == "404");
}

TEST_CASE("http2: an unknown method or expectation is refused behind the middleware") {
    router made = echoes();
    made.use([](request& req, next proceed) -> task<response> {
        response answer = co_await proceed(req);
        answer.header("seen", to_string(req.method()));
        co_return answer;
    });
    http2_client c(std::move(made));
    c.ask(1, asking("FETCH", "/echo"));
    CHECK(c.answers[1].get(":status") == "501");
    CHECK(c.answers[1].get("seen") == "_OTHER");
    c.ask(3, asking("POST", "/echo", {{"expect", "x"}}), false);
    CHECK(c.answers[3].get(":status") == "417");
    CHECK(c.answers[3].get("seen") == "POST");
    c.ask(5, asking("FETCH", "/%"));
    CHECK(c.answers[5].get(":status") == "400");
    CHECK(c.answers[5].get("seen").empty());
}

TEST_CASE("http2: an unknown method is in the log") {
    http2_client c(echoes());
    c.ask(1, asking("PROPFIND", "/secret?a"));
    CHECK(c.answers[1].get(":status") == "501");
    CHECK(c.logged_line == "PROPFIND /secret?a");
}

TEST_CASE("http2: a host is not empty before its port") {
    http2_client c(echoes());
    auto asked = asking("GET", "/");
    asked[2].second = ":80";
    c.ask(1, asked);
    CHECK(c.answers[1].get(":status") == "400");
}

TEST_CASE("http2: a request is for http or https, whatever it came by") {
    http2_client c(echoes());
    std::uint32_t stream = 1;
    for (const auto& [scheme, status] :
         {std::pair("http", "404"), std::pair("https", "404"), std::pair("HTTPS", "404"),
          std::pair("ftp", "400"), std::pair("httpss", "400"), std::pair("h", "400")}) {
        CAPTURE(scheme);
        auto asked = asking("GET", "/");
        asked[1].second = scheme;
        c.ask(stream, asked);
        CHECK(c.answers[stream].get(":status") == status);
        stream += 2;
    }
}

TEST_CASE("http2: Host and :authority say the same with or without the port of the scheme") {
    struct spelling {
        const char* scheme;
        const char* authority;
        const char* host;
        const char* status;
    };
    http2_client c(echoes());
    std::uint32_t stream = 1;
    for (const auto& [scheme, authority, host, status] : {
             spelling{"http", "here", "HERE", "404"},
             spelling{"http", "here", "here:80", "404"},
             spelling{"http", "here:80", "here", "404"},
             spelling{"http", "here:", "here", "404"},
             spelling{"http", "here:", "here:80", "404"},
             spelling{"https", "here", "here:443", "404"},
             spelling{"HTTPS", "here", "here:443", "404"},
             spelling{"http", "[::1]", "[::1]:80", "404"},
             spelling{"http", "[::80]", "[::80]", "404"},
             spelling{"http", "[::80]", "[::", "400"},
             spelling{"http", "here", "here:443", "400"},
             spelling{"https", "here", "here:80", "400"},
             spelling{"http", "here:8080", "here", "400"},
             spelling{"http", "here:80", "there:80", "400"},
         }) {
        CAPTURE(scheme, authority, host);
        c.ask(stream, {{":method", "GET"},
                       {":scheme", scheme},
                       {":authority", authority},
                       {":path", "/"},
                       {"host", host}});
        CHECK(c.answers[stream].get(":status") == status);
        stream += 2;
    }
}

TEST_CASE("http2: :protocol is one, and no list") {
    router made;
    made.get("/up",
             [] { return response::upgrade("echo", [](takeover&) -> task<void> { co_return; }); });
    http2_client c(std::move(made));
    std::uint32_t id = 1;
    for (const auto& [protocol, status] :
         {std::pair("echo", "200"), std::pair("Echo", "200"), std::pair("other, echo", "400"),
          std::pair("echo,", "400"), std::pair("echo/", "400"), std::pair("echo/1/2", "400"),
          std::pair("e cho", "400"), std::pair("echo/1", "501"), std::pair("other", "501")}) {
        CAPTURE(protocol);
        c.ask(id,
              {{":method", "CONNECT"},
               {":protocol", protocol},
               {":scheme", "http"},
               {":authority", "here"},
               {":path", "/up"}},
              false);
        CHECK(c.answers[id].get(":status") == status);
        id += 2;
    }
}

TEST_CASE("http2: HEAD has no content, though its method comes behind too much") {
    server_limits limits;
    limits.parser.head_bytes_max = 8'192;
    http2_client c(echoes(), limits);
    const field path{":path", '/' + std::string(9'000, 'a')};
    c.ask(1, {path, {":method", "HEAD"}, {":scheme", "http"}, {":authority", "here"}});
    CHECK(c.answers[1].get(":status") == "431");
    CHECK(c.answers[1].content.empty());
    CHECK(c.answers[1].ended);
    c.ask(3, {path, {":method", "GET"}, {":scheme", "http"}, {":authority", "here"}});
    CHECK(c.answers[3].get(":status") == "431");
    CHECK_FALSE(c.answers[3].content.empty());
    c.ask(5,
          {path, {":method", std::string(100, 'X')}, {":scheme", "http"}, {":authority", "here"}});
    CHECK(c.answers[5].get(":status") == "431");
}

TEST_CASE("http2: CONNECT has no content") {
    http2_client c(waits());
    const std::vector<field> plain{{":method", "CONNECT"}, {":authority", "b:1"}};
    const std::vector<field> extended{{":method", "CONNECT"},
                                      {":protocol", "websocket"},
                                      {":scheme", "http"},
                                      {":authority", "here"},
                                      {":path", "/"}};
    std::uint32_t id = 1;
    for (auto asked : {plain, extended}) {
        c.ask(id, asked, false);
        CHECK(c.answers[id].get(":status") == "501");
        asked.emplace_back("content-length", "0");
        c.ask(id + 2, asked, false);
        CHECK(c.answers[id + 2].get(":status") == (asked.size() == 3 ? "501" : "400"));
        asked.back().second = "5";
        c.ask(id + 4, asked, false);
        CHECK(c.answers[id + 4].get(":status") == "400");
        id += 6;
    }
}

} // namespace
} // namespace rota::http
