// The content of requests, and reads of it that are given up.

#include "stream_content.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/when_all.hpp>

#include "client.hpp"
#include "read_patiently.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace test;

task<std::string> read_beside(body_reader* from) {
    try {
        const std::string_view piece = co_await from->read();
        co_return std::string(piece);
    } catch (const std::logic_error&) {
        co_return "refused";
    }
}

router reading() {
    router made;
    made.post("/patient", read_patiently).post("/twice", [](request& req) -> task<response> {
        task<std::string> first = read_beside(&req.body());
        task<std::string> second = read_beside(&req.body());
        const auto both = co_await when_all(std::move(first), std::move(second));
        const std::string_view rest = co_await req.body().read();
        co_return response::text(std::get<0>(both) + ' ' + std::get<1>(both) + ' ' +
                                 std::string(rest));
    });
    return made;
}

TEST_CASE("http2: a read that is given up while it waits can be repeated, and its time counts") {
    server_limits limits;
    limits.body_grace = 10s;
    http2_client c(reading(), limits);
    c.ask(1, asking("POST", "/patient"), false);
    c.content(1, "hello");
    c.advance(2'500ms);
    c.content(1, "world", true);
    CHECK(c.answers[1].get(":status") == "200");
    CHECK(c.answers[1].content == "helloworld after 2");

    c.ask(3, asking("POST", "/patient"), false);
    c.advance(9'999ms);
    CHECK(c.answers[3].heads.empty());
    c.advance(2ms); // the read that finds it out is the next one, perhaps
    CHECK(c.answers[3].get(":status") == "408");
}

TEST_CASE("http2: two coroutines that read one content are told so, and the first goes on") {
    http2_client c(reading());
    c.ask(1, asking("POST", "/twice"), false);
    c.content(1, "one");
    c.content(1, "two", true);
    CHECK(c.answers[1].content == "one refused two");
}

} // namespace
} // namespace rota::http
