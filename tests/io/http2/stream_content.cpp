// The content of requests, and reads of it that are given up.

#include "stream_content.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/errors.hpp>
#include <rota/sleep.hpp>
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

TEST_CASE("http2: content that is kept has a bound over all streams, and is given back") {
    constexpr std::size_t step = memory_budget::step;
    memory_budget all(step);
    router whole;
    whole.post("/", [](const request&, std::string content) {
        return response::text(std::to_string(content.size()));
    });
    http2_client c(std::move(whole), {}, true, &all);
    const std::string piece(step, 'x');
    c.ask(1, asking("POST", "/"), false);
    c.content(1, piece);
    c.content(1, "x");
    c.ask(3, asking("POST", "/"), false);
    c.content(3, piece);
    CHECK(c.answers[3].heads.empty());
    c.content(3, "x");
    CHECK(c.answers[3].get(":status") == "503");
    CHECK(c.answers[3].get("retry-after") == "1");
    c.content(1, "x", true);
    CHECK(c.answers[1].content == "16386");
    c.ask(5, asking("POST", "/"), false);
    c.content(5, piece);
    c.content(5, "x", true);
    CHECK(c.answers[5].content == "16385");
}

/// Streams 1, 3, ... whose content comes and is not read, of so many bytes in all.
void keep_unread(http2_client& c, std::size_t bytes) {
    constexpr std::size_t window = 65'535;
    for (std::uint32_t id = 1; bytes != 0; id += 2) {
        c.ask(id, asking("POST", "/never"), false);
        for (std::size_t left = std::min(bytes, window); left != 0;) {
            const std::size_t size = std::min<std::size_t>(left, 16'384);
            c.content(id, std::string(size, 'x'));
            left -= size;
            bytes -= size;
        }
    }
}

router some_read() {
    router r;
    r.post("/never", [](request&) -> task<response> {
        co_await sleep_for(1h);
        co_return response::text("late");
    });
    r.post("/read", [](request& asked) -> task<response> {
        const std::string all = co_await asked.text();
        co_return response::text(std::to_string(all.size()));
    });
    return r;
}

TEST_CASE("http2: content is read however much of other streams is not") {
    http2_client c(some_read());
    const std::size_t before = c.windows[0];
    const std::size_t unread = GENERATE(524'288, 524'289, 1'000'000, 1'040'000);
    keep_unread(c, unread);
    const std::size_t window = 65'535 + before - unread;
    std::size_t sent = 0;
    c.ask(101, asking("POST", "/read"), false);
    while (sent < 300'000) {
        const std::size_t left = window + c.windows[0] - before - sent;
        INFO(sent << " sent");
        REQUIRE(left > 0);
        const std::size_t size = std::min<std::size_t>(left, 16'384);
        c.content(101, std::string(size, 'y'));
        sent += size;
    }
    CHECK(c.windows[101] + 65'535 - sent >= 100'000); // since it is read
    c.content(101, "", true);
    CHECK(c.answers[101].content == std::to_string(sent));
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: a client is not blamed for content that it may not send") {
    server_limits limits;
    limits.body_grace = 10s;
    http2_client c(some_read(), limits);
    keep_unread(c, 1'048'576 - GENERATE(0, 1));
    c.ask(101, asking("POST", "/read"), false);
    for (int i = 0; i < 30; ++i)
        c.advance(1s);
    CHECK_FALSE(c.answers[101].ended);
    CHECK(c.answers[101].reset == ~0U);
    c.reset(1); // which gives room
    c.content(101, "some");
    c.advance(8s);
    c.content(101, "more", true);
    CHECK(c.answers[101].content == "8");
    c.ask(103, asking("POST", "/read"), false);
    c.advance(11s); // now it may
    CHECK(c.answers[103].get(":status") == "408");
}

router ignoring() {
    router r;
    r.get("/", [] { return response::text("here"); });
    r.post("/ignored", [] { return response::text("enough"); });
    return r;
}

TEST_CASE("http2: content that nobody reads is dropped for a while, then its stream is reset") {
    server_limits limits;
    limits.linger_bytes_max = 200'000;
    http2_client c(ignoring(), limits);
    c.ask(1, asking("POST", "/ignored"), false);
    CHECK(c.answers[1].content == "enough");
    CHECK(c.answers[1].reset == ~0U);
    c.content(1, std::string(1'000, 'x'), true);
    CHECK(c.answers[1].reset == ~0U);
    c.ask(3, asking("POST", "/ignored", {{"content-length", "1000000"}}), false);
    std::size_t sent = 0;
    for (; sent + 16'000 <= limits.linger_bytes_max; sent += 16'000) {
        CHECK(c.answers[3].reset == ~0U);
        REQUIRE(65'535 + c.windows[3] >= sent + 16'000); // it may be sent
        c.content(3, std::string(16'000, 'x'));
    }
    CHECK(c.answers[3].reset == ~0U);
    c.content(3, std::string(16'000, 'x'));
    CHECK(c.answers[3].reset == 0);
    c.ask(5, asking("POST", "/ignored", {{"expect", "100-continue"}}), false);
    CHECK(c.answers[5].reset == 0);
    c.ask(7, asking("POST", "/ignored"), false);
    c.advance(6s);
    CHECK(c.answers[7].reset == 0);
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: streams whose content nobody reads count as open, and keep nothing") {
    server_limits limits;
    limits.http2.streams_max = 4;
    http2_client c(ignoring(), limits);
    const auto before = c.windows[0];
    std::size_t sent = 0;
    for (std::uint32_t id = 1; id < 9; id += 2)
        c.ask(id, asking("POST", "/ignored"), false);
    for (int round = 0; round < 40; ++round) {
        for (std::uint32_t id = 1; id < 9; id += 2) {
            c.content(id, std::string(16'000, 'x'));
            sent += 16'000;
        }
    }
    CHECK(c.windows[0] - before + 1'048'576 > sent); // of the connection's window
    c.ask(9, asking("GET", "/"));
    CHECK(c.answers[9].reset == 7); // REFUSED_STREAM
    c.advance(6s);
    CHECK(c.answers[1].reset == 0);
    c.ask(11, asking("GET", "/"));
    CHECK(c.answers[11].get(":status") == "200");
    CHECK(c.goaway() == -1);
}

} // namespace
} // namespace rota::http
