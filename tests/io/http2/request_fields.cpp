// Fields as HTTP/2 brings them, and the head that they become: see connection.cpp, too.

#include "request_fields.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

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

} // namespace
} // namespace rota::http
