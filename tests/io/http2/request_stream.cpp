// Answers and the windows that they wait for.

#include "request_stream.hpp"

#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/sleep.hpp>
#include <rota/with_timeout.hpp>

#include "allocations_left.hpp"
#include "client.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// What a client says whose streams begin with so much of a window.
std::string window_of(std::uint32_t bytes) { return number(4, 2) + number(bytes); }

router streamed() {
    router made;
    made.get("/nothing",
             [] { return response::stream([](body_writer&) -> task<void> { co_return; }); })
        .get("/none",
             [] {
                 return response::stream(
                     0, [](body_writer& out) -> task<void> { co_await out.flush(); });
             })
        .get("/four",
             [] {
                 return response::stream([](body_writer& out) -> task<void> {
                     co_await out.write("four");
                     co_await sleep_for(1s);
                 });
             })
        .get("/known",
             [] {
                 return response::stream(
                     4, [](body_writer& out) -> task<void> { co_await out.write("four"); });
             })
        .get("/sum", [] {
            return response::stream([](body_writer& out) -> task<void> {
                out.add_trailer("X-Sum", "0");
                co_return;
            });
        });
    made.get("/shout", [] {
        return response::upgrade("shout", [](takeover& client) -> task<void> {
            while (auto line = co_await client.read_line())
                co_await client.write(*line);
        });
    });
    return made;
}

/// Fills the window, gives up a large piece that waits for another, and goes on as if it were
/// there.
router gives_up() {
    router made;
    for (const bool owned : {false, true}) {
        made.get(owned ? "/owned" : "/lent", [owned] {
            return response::stream([owned](body_writer& out) -> task<void> {
                for (int i = 0; i < 5; ++i)
                    co_await out.write(std::string(14'000, 'A'));
                const std::string piece(20'000, 'B');
                task<void> large = owned ? out.write_owned(piece) : out.write(piece);
                try {
                    co_await with_timeout(300ms, std::move(large));
                } catch (const timed_out&) {
                }
                co_await out.write(std::string(14'000, 'C'));
            });
        });
    }
    return made;
}

TEST_CASE("http2: a piece that is given up leaves no hole: the stream is reset") {
    http2_client c(gives_up());
    std::uint32_t id = 1;
    for (const char* const path : {"/lent", "/owned"}) {
        CAPTURE(path);
        c.ask(id, asking("GET", path));
        c.advance(1s);
        c.open_window(0, 1'000'000);
        c.open_window(id, 1'000'000);
        c.advance(1s);
        CHECK(c.answers[id].reset == 2); // INTERNAL_ERROR
        CHECK_FALSE(c.answers[id].ended);
        CHECK(c.answers[id].content.find_first_not_of('A') == std::string::npos);
        id += 2;
    }
}

/// As often as a write of 16,000 bytes allocates, it fails there, and its handler goes on.
TEST_CASE("http2: a piece for which there is no memory leaves no hole") {
    int failed = 0;
    for (int at = 0; at < 4; ++at) {
        CAPTURE(at);
        bool threw = false;
        router made;
        made.get("/", [at, &threw] {
            return response::stream([at, &threw](body_writer& out) -> task<void> {
                const std::string piece(16'000, 'B');
                co_await out.write(std::string(6'000, 'A'));
                task<void> writing = out.write(piece); // one that does not begin leaves nothing out
                ::test::allocations_left = at;
                ::test::failures_left = 1;
                try {
                    co_await std::move(writing);
                } catch (const std::bad_alloc&) {
                    threw = true;
                }
                ::test::allocations_left = -1;
                co_await out.write("C");
            });
        });
        http2_client c(std::move(made));
        c.ask(1, asking("GET", "/"));
        failed += threw ? 1 : 0;
        if (threw)
            CHECK_FALSE(c.answers[1].ended);
        else
            CHECK(c.answers[1].content.size() == 6'000 + 16'000 + 1);
    }
    CHECK(failed > 0);
}

TEST_CASE("http2: fields of a connection are not in answers") {
    router made;
    made.get("/", [] {
        response all = response::text("here");
        for (const char* name : {"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Upgrade"})
            all.headers().append_trusted(std::string(name) + ": trailers\r\n");
        return all;
    });
    http2_client c(std::move(made));
    c.ask(1, asking("GET", "/"));
    CHECK(c.answers[1].content == "here");
    for (const char* name : {"connection", "keep-alive", "proxy-connection", "te", "upgrade"})
        CHECK(c.answers[1].get(name).empty());
}

TEST_CASE("http2: what is empty needs no window") {
    http2_client c(streamed(), {}, false);
    c.hello(window_of(0));
    c.ask(1, asking("GET", "/nothing"));
    CHECK(c.answers[1].get(":status") == "200");
    CHECK(c.answers[1].ended);
    c.ask(3, asking("GET", "/none"));
    CHECK(c.answers[3].get("content-length") == "0");
    CHECK(c.answers[3].ended);
}

TEST_CASE("http2: an end that is known leaves with the last bytes") {
    http2_client c(streamed(), {}, false);
    c.hello(window_of(4));
    c.ask(1, asking("GET", "/known"));
    CHECK(c.answers[1].content == "four");
    CHECK(c.answers[1].ended);
}

TEST_CASE("http2: an end waits for a window, but not for ever") {
    http2_client c(streamed(), {}, false);
    c.hello(window_of(4));
    c.ask(1, asking("GET", "/four"));
    c.ask(3, asking("GET", "/four"));
    auto asked = asking("CONNECT", "/shout", {{":protocol", "shout"}});
    std::swap(asked[4], asked[1]);
    c.ask(5, asked, false);
    c.content(5, "four\n", true);
    CHECK(c.answers[5].content == "four");
    c.advance(1s);
    CHECK(c.answers[1].content == "four");
    CHECK_FALSE(c.answers[1].ended);
    c.open_window(1, 1);
    CHECK(c.answers[1].ended);
    c.advance(50s);
    CHECK(c.answers[3].reset == ~0U);
    c.advance(40s);
    CHECK(c.answers[3].reset == 11);
    CHECK(c.answers[5].reset == 11);
    CHECK(c.goaway() == -1);
    c.advance(70s);
    CHECK(c.goaway() == 0); // it idles
}

TEST_CASE("http2: trailers wait for a window, but not for ever") {
    http2_client c(streamed(), {}, false);
    c.hello(window_of(0));
    c.ask(1, asking("GET", "/sum"));
    CHECK_FALSE(c.answers[1].ended);
    c.advance(90s);
    CHECK(c.answers[1].reset == 11);
}

TEST_CASE("http2: a window of the connection keeps ends back, but not for ever") {
    router made = streamed();
    made.get("/all", [] { return response::text(std::string(65'535, 'x')); });
    http2_client c(std::move(made));
    c.ask(1, asking("GET", "/all"));
    CHECK(c.answers[1].ended);
    c.ask(3, asking("GET", "/nothing"));
    CHECK(c.answers[3].ended);
    c.ask(5, asking("GET", "/sum"));
    c.advance(90s);
    CHECK(c.goaway() == 11);
}

TEST_CASE("http2: who waits for others of its connection does not stand still") {
    router made = streamed();
    made.get("/large", [] { return response::text(std::string(10'000'000, 'x')); });
    http2_client c(std::move(made));
    c.ask(1, asking("GET", "/large"));
    c.ask(3, asking("GET", "/sum"));
    for (int i = 0; i < 100; ++i) {
        c.advance(2s);
        c.open_window(1, 1'000);
        c.open_window(0, 1'000);
    }
    CHECK(c.goaway() == -1);
    CHECK(c.answers[3].reset == ~0U);
    c.advance(90s);
    CHECK(c.goaway() == 11);
}

TEST_CASE("http2: both windows may be opened again for each frame, but not bit by bit") {
    router made;
    made.get("/few", [] { return response::text("few"); }).get("/many", [] {
        return response::text(std::string(100'000, 'x'));
    });
    http2_client c(std::move(made));
    const auto words = [](std::uint32_t id, std::uint32_t bytes) {
        return make_frame(window_frame, 0, 0, number(bytes)) +
               make_frame(window_frame, 0, id, number(bytes));
    };
    std::uint32_t id = 1;
    for (; id < 6'000; id += 2) {
        c.ask(id, asking("GET", "/few"));
        c.send(words(id, 3));
    }
    CHECK(c.goaway() == -1);
    c.ask(id, asking("GET", "/many"));
    std::size_t said = 0;
    for (; said < 10'000 && c.goaway() == -1; ++said)
        c.send(words(id, 1));
    CHECK(c.goaway() == 11);
    CHECK(said < 3'000);
}

/// Routes to takers that have said their last, and tell by `ended` that they are gone.
router half_closing(bool* ended) {
    struct at_end {
        bool* ended;
        ~at_end() { *ended = true; }
    };
    router made;
    made.get("/waits",
             [ended] {
                 return response::upgrade("half", [ended](takeover& client) -> task<void> {
                     const at_end noted{ended};
                     client.shutdown_write();
                     const bool more = co_await client.fill();
                     co_await client.fill(); // never
                     (void)more;
                 });
             })
        .get("/aborts", [ended] {
            return response::upgrade("half", [ended](takeover& client) -> task<void> {
                const at_end noted{ended};
                client.shutdown_write();
                const bool more = co_await client.fill();
                client.abort();
                (void)more;
            });
        });
    return made;
}

std::vector<field> tunnel(const std::string& path) {
    return {{":method", "CONNECT"},
            {":protocol", "half"},
            {":scheme", "http"},
            {":authority", "here"},
            {":path", path}};
}

TEST_CASE("http2: a taker that has said its last learns of a reset") {
    bool ended = false;
    http2_client c(half_closing(&ended));
    c.ask(1, tunnel("/waits"), false);
    CHECK(c.answers[1].ended);
    CHECK_FALSE(ended);
    c.reset(1);
    CHECK(ended);
    CHECK_FALSE(c.ended());
}

TEST_CASE("http2: a taker that has said its last can give its client up") {
    bool ended = false;
    http2_client c(half_closing(&ended));
    c.ask(1, tunnel("/aborts"), false);
    c.content(1, "x");
    CHECK(ended);
    CHECK(c.answers[1].reset == 8);
    CHECK_FALSE(c.ended());
}

TEST_CASE("http2: a tunnel has no trailers") {
    bool ended = false;
    http2_client c(half_closing(&ended));
    c.ask(1, tunnel("/waits"), false);
    c.ask(1, {{"x", "y"}});
    CHECK(c.answers[1].reset == 1);
    CHECK(ended);
    CHECK_FALSE(c.ended());
}

TEST_CASE("http2: who says that it leaves is told so, too") {
    http2_client c(streamed());
    c.ask(1, asking("GET", "/known"));
    c.send(make_frame(goaway_frame, 0, 0, number(0) + number(0)));
    CHECK(c.goaways == std::vector<std::pair<std::uint32_t, int>>{{1, 0}});
}

TEST_CASE("http2: answers to streams that were reset are in the log, with what has left") {
    router made;
    made.get("/waits",
             [](request& asked) -> task<response> {
                 co_await asked.disconnected();
                 co_return response::text(std::string(10'000, 'x'));
             })
        .get("/sleeps",
             [](request&) -> task<response> {
                 co_await sleep_for(1s);
                 co_return response::text("late");
             })
        .get("/streams",
             [] {
                 return response::stream([](body_writer& out) -> task<void> {
                     co_await out.write("streamed");
                     co_await sleep_for(1s);
                 });
             })
        .get("/ended",
             [] {
                 return response::stream(
                     [](body_writer& out) -> task<void> { co_await out.write("streamed"); });
             })
        .get("/small", [] { return response::text("small"); })
        .get("/four", [] { return response::text("four"); })
        .get("/large", [] { return response::text(std::string(100'000, 'x')); });
    http2_client c(std::move(made), {}, false);
    c.hello(window_of(4));
    std::uint32_t id = 1;
    for (const auto& [path, bytes] :
         {std::pair("/waits", 0U), std::pair("/sleeps", 0U), std::pair("/streams", 4U),
          std::pair("/ended", 4U), std::pair("/small", 4U), std::pair("/four", 4U),
          std::pair("/large", 4U), std::pair("/none", 4U)}) {
        CAPTURE(path);
        c.ask(id, asking("GET", path));
        c.reset(id);
        CHECK(c.logged.size() == (id + 1) / 2);
        CHECK(c.logged.back().second == bytes);
        id += 2;
    }
    const metrics_snapshot counted = c.metrics();
    std::uint64_t answers = 0;
    for (const std::uint64_t each : counted.responses_by_class)
        answers += each;
    CHECK(answers == counted.requests_http2);
}

TEST_CASE("http2: what ends unanswered with its connection is in the log, too") {
    const auto logged = [](const auto& end) {
        router made;
        made.get("/sleeps", [](request&) -> task<response> {
            co_await sleep_for(1h);
            co_return response::text("late");
        });
        http2_client c(std::move(made));
        c.ask(1, asking("GET", "/sleeps"));
        end(c);
        CHECK(c.ended());
        CHECK(c.metrics().requests_http2 == 1);
        REQUIRE(c.logged.size() == 1);
        return c.logged.front().first;
    };
    CHECK(logged([](http2_client& c) {
              c.stream().reset();
              c.receive();
              c.go_on();
          }) == 499);
    CHECK(logged([](http2_client& c) { c.stop(); }) == 503);
}

TEST_CASE("http2: what is answered when its client has gone has no answer") {
    router made;
    made.get("/answers", [](request&) -> task<response> {
        try {
            co_await sleep_for(1h);
        } catch (const operation_cancelled&) { // it answers all the same
        }
        co_return response::text("late");
    });
    http2_client c(std::move(made));
    c.ask(1, asking("GET", "/answers"));
    c.reset(1);
    using line = std::pair<int, std::uint64_t>;
    CHECK(c.logged == std::vector<line>{{499, 0}});
}

} // namespace
} // namespace rota::http
