// Streams that are another protocol's, and those that are not given away.

#include "stream_takeover.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/http/security_headers.hpp>
#include <rota/routine.hpp>
#include <rota/worker.hpp>

#include "client.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace test;

std::vector<field> upgrade_to(std::string protocol, std::string path) {
    return {{":method", "CONNECT"},
            {":protocol", std::move(protocol)},
            {":scheme", "http"},
            {":authority", "here"},
            {":path", std::move(path)}};
}

std::vector<field> tunnel_to(std::string where) {
    return {{":method", "CONNECT"}, {":authority", std::move(where)}};
}

task<void> echo(takeover& client) {
    while (const auto line = co_await client.read_line())
        co_await client.write_line(*line);
}

TEST_CASE("http2: a plain CONNECT has a tunnel, or an answer that does not look like one") {
    router made;
    made.connect([](const request& asked) {
        if (asked.target() == "b:1")
            return response::tunnel(echo);
        if (asked.target() == "b:2")
            throw http_error(403, "not there");
        return response::text("no tunnel");
    });
    http2_client c(std::move(made));
    c.ask(1, tunnel_to("b:1"), false);
    c.content(1, "through\n");
    CHECK(c.answers[1].get(":status") == "200");
    CHECK(c.answers[1].content == "through\n");
    c.ask(3, tunnel_to("b:2"), false);
    CHECK(c.answers[3].get(":status") == "403");
    c.ask(5, tunnel_to("b:3"), false);
    CHECK(c.answers[5].get(":status") == "501");
    CHECK(c.answers[5].content.find("no tunnel") == std::string::npos);
    c.content(1, "still\n");
    CHECK(c.answers[1].content == "through\nstill\n");
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: CONNECT where nobody takes it is no reason to end the connection") {
    http2_client c{router()};
    c.ask(1, tunnel_to("b:1"), false);
    CHECK(c.answers[1].get(":status") == "501");
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: a stream that is not given away has what middleware has promised") {
    router made;
    made.use(security_headers());
    made.get("/up", [] { return response::upgrade("echo", echo); })
        .get("/tunnel", [] { return response::tunnel(echo); })
        .get("/text", [] { return response::text("no other protocol"); });
    http2_client c(std::move(made));
    std::uint32_t id = 1;
    for (const auto& [fields, status] :
         {std::pair(asking("GET", "/up"), "400"), std::pair(upgrade_to("other", "/up"), "501"),
          std::pair(asking("GET", "/tunnel"), "500"), std::pair(upgrade_to("echo", "/text"), "501"),
          std::pair(upgrade_to("echo", "/up"), "200")}) {
        CAPTURE(id);
        c.ask(id, fields, false);
        CHECK(c.answers[id].get(":status") == status);
        CHECK(c.answers[id].get("x-content-type-options") == "nosniff");
        id += 2;
    }
}

TEST_CASE("http2: what takes over is not given away behind another status") {
    router made;
    made.use([](request& asked, next proceed) -> task<response> {
        response answer = co_await proceed(asked);
        answer.status(403);
        co_return answer;
    });
    made.connect([](const request&) { return response::tunnel(echo); }).get("/up", [] {
        return response::upgrade("echo", echo);
    });
    http2_client c(std::move(made));
    c.ask(1, tunnel_to("b:1"), false);
    c.ask(3, upgrade_to("echo", "/up"), false);
    for (const std::uint32_t id : {1, 3}) {
        CHECK(c.answers[id].get(":status") == "500");
        CHECK(c.answers[id].ended);
    }
    CHECK(c.errors.size() == 2);
    CHECK(c.logged.front().first == 500);
}

TEST_CASE("http2: a taker that throws has its stream reset, unless all is told") {
    router made;
    for (const bool told : {false, true}) {
        made.get(told ? "/told" : "/cut", [told] {
            return response::upgrade("echo", [told](takeover& client) -> task<void> {
                co_await client.write("goodbye");
                if (told)
                    client.all_told();
                throw std::runtime_error("as told");
            });
        });
    }
    http2_client c(std::move(made));
    c.ask(1, upgrade_to("echo", "/cut"), false);
    CHECK(c.answers[1].reset == 2);
    CHECK(c.errors.size() == 1);
    c.ask(3, upgrade_to("echo", "/told"), false);
    c.content(3, "", true);
    CHECK(c.answers[3].content == "goodbye");
    CHECK(c.answers[3].ended);
    CHECK(c.answers[3].reset == ~0U);
    CHECK(c.errors.size() == 2);
}

TEST_CASE("http2: a write behind a stop request queues nothing") {
    bool cancelled = false;
    router made;
    made.connect([&](const request&) {
        return response::tunnel([&](takeover& client) -> task<void> {
            const auto write = [&client]() -> task<void> {
                routine& self = co_await current_routine;
                self.request_stop();
                co_await client.write("never");
            };
            try {
                co_await write();
            } catch (const operation_cancelled&) {
                cancelled = true;
            }
        });
    });
    http2_client c(std::move(made));
    c.ask(1, tunnel_to("b:1"), false);
    CHECK(cancelled);
    CHECK(c.answers[1].content.empty());
}

TEST_CASE("http2: a flush of what another protocol has written has its deadline") {
    std::vector<std::string_view> ends;
    router made;
    made.get("/up", [&ends] {
        return response::upgrade("echo", [&ends](takeover& client) -> task<void> {
            const routine& self = co_await current_routine;
            try {
                co_await client.flush(self.home().now() + 300ms);
                ends.emplace_back("flushed");
            } catch (const timed_out&) {
                ends.emplace_back("late");
            }
            co_await client.write("hello");
            co_await client.flush(self.home().now() + 300ms);
            ends.emplace_back("flushed");
            co_await client.fill();
        });
    });
    http2_client c(std::move(made));
    c.stream().set_room(0);
    c.stream().send(make_frame(headers_frame, end_headers, 1, encode(upgrade_to("echo", "/up"))));
    c.go_on(200ms);
    CHECK(ends.empty());
    c.go_on(200ms);
    CHECK(ends == std::vector<std::string_view>{"late"});
    c.stream().set_room(100'000);
    c.receive();
    CHECK(ends == std::vector<std::string_view>{"late", "flushed"});
    CHECK(c.answers[1].content == "hello");
}

TEST_CASE("http2: the last words of another protocol are queued, room or not") {
    router made;
    made.get("/up", [] {
        return response::upgrade("echo", [](takeover& client) -> task<void> {
            while (client.try_write(std::string(1'000, 'x')) || client.try_write("x"))
                continue;
            CHECK(client.try_write_last("end"));
            client.shutdown_write();
            CHECK_FALSE(client.try_write_last("more"));
            co_await client.fill();
        });
    });
    http2_client c(std::move(made));
    c.ask(1, upgrade_to("echo", "/up"), false);
    c.open_window(1, 10'000'000);
    c.open_window(0, 10'000'000);
    c.receive();
    CHECK(c.answers[1].content.ends_with("xend"));
}

} // namespace
} // namespace rota::http
