// Fields as HTTP/2 brings them, and the head that they become: see connection.cpp, too.

#include "request_fields.hpp"

#include <cstdint>
#include <string>
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

} // namespace
} // namespace rota::http
