#include "connection.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/http/error.hpp>
#include <rota/sleep.hpp>

#include "client.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace test;

std::string text_of(const request& r) {
    std::string text(to_string(r.method()));
    text.append(" ").append(r.target()).append(" ").append(r.host());
    text.append(" ").append(r.protocol()).append(" ").append(r.header("cookie").value_or("-"));
    return text;
}

router routes(bool* stopped = nullptr) {
    router made;
    made.get("/", [](const request& r) { return response::text(text_of(r)); })
        .get("/large", [] { return response::text(std::string(300'000, 'x')); })
        .get("/never",
             [stopped](request&) -> task<response> {
                 try {
                     co_await sleep_for(1h);
                 } catch (const operation_cancelled&) {
                     if (stopped != nullptr)
                         *stopped = true;
                     throw;
                 }
                 co_return response();
             })
        .get("/throws", [](const request&) -> response { throw std::runtime_error("no"); })
        .get("/lines",
             [] {
                 return response::stream([](body_writer& out) -> task<void> {
                     co_await out.write("one\n");
                     co_await out.write("two\n");
                     out.add_trailer("X-Sum", "2");
                 });
             })
        .get("/ticks",
             [] {
                 return response::stream([](body_writer& out) -> task<void> {
                     for (;;) {
                         co_await out.write("tick\n");
                         co_await out.flush();
                         co_await sleep_for(1s);
                     }
                 });
             })
        .post("/echo", [](const request&, std::string all) { return response::text(all); })
        .post("/pieces", [](request& r) -> task<response> {
            co_return response::stream([&r](body_writer& out) -> task<void> {
                for (;;) {
                    const std::string_view piece = co_await r.body().read();
                    if (piece.empty())
                        co_return;
                    co_await out.write(piece);
                }
            });
        });
    return made;
}

TEST_CASE("http2: a request is answered") {
    http2_client c(routes());
    CHECK(c.settings[3] == 128);
    CHECK(c.settings[6] == 32'768);
    CHECK(c.settings[8] == 1);
    c.ask(1, asking("GET", "/", {{"cookie", "a=1"}, {"cookie", "b=2"}}));
    CHECK(c.answers[1].get(":status") == "200");
    CHECK(c.answers[1].get("content-type") == "text/plain; charset=utf-8");
    CHECK(c.answers[1].content == "GET / here HTTP/2 a=1; b=2");
    CHECK(c.answers[1].get("content-length") == "26");
    CHECK(c.answers[1].ended);
    CHECK_FALSE(c.answers[1].get("date").empty());
    c.ask(3, asking("HEAD", "/"));
    CHECK(c.answers[3].get("content-length").size() == 2);
    CHECK(c.answers[3].content.empty());
    CHECK(c.answers[3].ended);
    c.ask(5, asking("GET", "/none"));
    CHECK(c.answers[5].get(":status") == "404");
    c.ask(7, asking("GET", "/throws"));
    CHECK(c.answers[7].get(":status") == "500");
    CHECK(c.errors.size() == 1);
    CHECK(c.metrics().requests == 4);
    CHECK(c.metrics().requests_http2 == 4);
    CHECK(c.metrics().connections_open == 1);
    c.finish();
    CHECK(c.ended_well());
    CHECK(c.metrics().connections_open == 0);
    CHECK(c.metrics().connections_http2 == 0);
}

TEST_CASE("http2: bytes may come in any pieces") {
    const std::string all =
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + make_frame(settings_frame, 0, 0) +
        make_frame(headers_frame, end_headers, 1, encode(asking("POST", "/echo"))) +
        make_frame(data_frame, 0, 1, "some") + make_frame(data_frame, end_stream, 1, " more");
    http2_client c(routes(), {}, false);
    for (const char byte : all)
        c.send(std::string(1, byte));
    CHECK(c.answers[1].content == "some more");
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: answers wait for windows") {
    http2_client c(routes());
    c.ask(1, asking("GET", "/large"));
    CHECK(c.answers[1].content.size() == 65'535);
    c.ask(3, asking("GET", "/"));
    CHECK_FALSE(c.answers[3].ended); // the connection's is empty
    c.open_window(0, 1'000'000);
    CHECK(c.answers[3].ended);
    CHECK(c.answers[1].content.size() == 65'535);
    c.open_window(1, 100'000);
    CHECK(c.answers[1].content.size() == 165'535);
    c.open_window(1, 1'000'000);
    CHECK(c.answers[1].content == std::string(300'000, 'x'));
    CHECK(c.answers[1].ended);
}

TEST_CASE("http2: streamed answers, trailers, content in pieces") {
    http2_client c(routes());
    c.ask(1, asking("GET", "/lines"));
    CHECK(c.answers[1].content == "one\ntwo\n");
    REQUIRE(c.answers[1].heads.size() == 2);
    CHECK(c.answers[1].heads[1] == std::vector<field>{{"x-sum", "2"}});
    CHECK(c.answers[1].ended);
    c.ask(3, asking("POST", "/pieces"), false);
    c.content(3, "abc");
    CHECK(c.answers[3].content == "abc");
    c.content(3, "def", true);
    CHECK(c.answers[3].content == "abcdef");
    CHECK(c.answers[3].ended);
}

TEST_CASE("http2: windows open as content is read") {
    server_limits limits;
    limits.http2.stream_window_bytes = 65'535;
    limits.http2.connection_window_bytes = 65'535;
    http2_client c(routes(), limits);
    c.ask(1, asking("POST", "/pieces"), false);
    for (int i = 0; i < 10; ++i)
        c.content(1, std::string(16'000, 'x'));
    CHECK(c.windows[1] >= 100'000);
    CHECK(c.windows[0] >= 100'000);
    c.open_window(0, 1'000'000);
    c.open_window(1, 1'000'000);
    c.content(1, "", true);
    CHECK(c.answers[1].content.size() == 160'000);
    // What is not read opens none.
    c.ask(3, asking("GET", "/never"), false);
    const auto before = c.windows[3];
    for (int i = 0; i < 2; ++i)
        c.content(3, std::string(15'000, 'x'));
    CHECK(c.windows[3] == before);
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: Expect is answered by the first read") {
    http2_client c(routes());
    c.ask(1, asking("POST", "/echo", {{"expect", "100-continue"}}), false);
    REQUIRE(c.answers[1].heads.size() == 1);
    CHECK(c.answers[1].heads[0] == std::vector<field>{{":status", "100"}});
    c.content(1, "now", true);
    CHECK(c.answers[1].get(":status") == "200");
    CHECK(c.answers[1].content == "now");
}

TEST_CASE("http2: a reset stops its handler") {
    bool stopped = false;
    http2_client c(routes(&stopped));
    c.ask(1, asking("GET", "/never"));
    CHECK_FALSE(stopped);
    CHECK(c.metrics().requests_in_flight == 1);
    CHECK(c.metrics().requests_http2 == 0); // as requests: they are counted by their answers
    c.reset(1);
    CHECK(stopped);
    CHECK(c.metrics().requests_http2 == c.metrics().requests);
    CHECK(c.metrics().requests_in_flight == 0);
    CHECK(c.errors.empty());
    stopped = false;
    c.ask(3, asking("GET", "/never"));
    c.finish();
    CHECK(stopped);
    CHECK(c.ended_well());
}

TEST_CASE("http2: the answer to a request that was given up is not the next one's") {
    http2_client c(routes());
    // The reset comes when the answer is there, and before it begins.
    c.stream().send(
        make_frame(headers_frame, end_headers | end_stream, 1, encode(asking("GET", "/lines"))));
    c.stream().send(make_frame(reset_frame, 0, 1, number(8)));
    c.send("");
    CHECK(c.answers[1].heads.empty());
    c.ask(3, asking("POST", "/echo"), false);
    c.content(3, "hello", true);
    CHECK(c.answers[3].content == "hello");
}

TEST_CASE("http2: what is too large has its status") {
    http2_client c(routes());
    c.ask(1, asking("GET", "/", {{"x", std::string(12'000, 'a')}}));
    CHECK(c.answers[1].get(":status") == "200");
    std::string block = encode(asking("GET", "/",
                                      {{"x", std::string(16'000, 'a')},
                                       {"y", std::string(16'000, 'b')},
                                       {"z", std::string(4'000, 'c')}}));
    c.send(make_frame(headers_frame, end_stream, 3, block.substr(0, 16'000)) +
           make_frame(continuation_frame, 0, 3, block.substr(16'000, 16'000)) +
           make_frame(continuation_frame, end_headers, 3, block.substr(32'000)));
    CHECK(c.answers[3].get(":status") == "431");
    c.ask(5, asking("POST", "/echo", {{"content-length", "2000000"}}), false);
    CHECK(c.answers[5].get(":status") == "413");
    c.ask(7, asking("GET", "/" + std::string(9'000, 'a')));
    CHECK(c.answers[7].get(":status") == "414");
    c.ask(9, asking("BREW", "/"));
    CHECK(c.answers[9].get(":status") == "501");
    c.ask(11, asking("GET", "/%zz"));
    CHECK(c.answers[11].get(":status") == "400");
    c.ask(13, asking("GET", "/", {{"host", "there"}}));
    CHECK(c.answers[13].get(":status") == "400");
    c.ask(15, asking("GET", "/a%00.png"));
    CHECK(c.answers[15].get(":status") == "404");
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: a drain says goodbye twice") {
    http2_client c(routes());
    c.ask(1, asking("POST", "/echo"), false);
    c.drain();
    REQUIRE(c.goaways.size() == 1);
    CHECK(c.goaways[0] == std::pair<std::uint32_t, int>(0x7fffffff, 0));
    c.ask(3, asking("GET", "/")); // was on its way
    CHECK(c.answers[3].get(":status") == "200");
    c.advance(200ms);
    REQUIRE(c.goaways.size() == 2);
    CHECK(c.goaways[1] == std::pair<std::uint32_t, int>(3, 0));
    CHECK_FALSE(c.ended());
    c.content(1, "late", true);
    CHECK(c.answers[1].content == "late");
    CHECK(c.stream().write_ended());
    // What it says of what it reads comes to no socket that is closed.
    c.advance(300ms);
    c.open_window(0, 4);
    CHECK_FALSE(c.ended());
    c.advance(6s);
    CHECK(c.ended_well());
    http2_client idle(routes());
    idle.ask(1, asking("GET", "/"));
    idle.advance(10s);
    idle.drain();
    idle.advance(200ms);
    idle.advance(200ms);
    CHECK(idle.goaway() == 0);
    CHECK(idle.ended_well());
}

TEST_CASE("http2: silent clients go") {
    http2_client c(routes());
    c.ask(1, asking("GET", "/"));
    c.advance(59s);
    CHECK_FALSE(c.ended());
    c.advance(2s);
    CHECK(c.goaway() == 0);
    c.advance(6s);
    CHECK(c.ended_well());
    http2_client mute(routes(), {}, false);
    mute.advance(11s);
    mute.advance(6s);
    CHECK(mute.ended_well());
    http2_client slow(routes());
    slow.send(make_frame(headers_frame, end_stream, 1, encode(asking("GET", "/"))));
    slow.advance(11s);
    CHECK(slow.goaway() == 11);
}

TEST_CASE("http2: a client that opens no window is given up") {
    http2_client c(routes());
    c.ask(1, asking("GET", "/large"));
    c.advance(30s);
    CHECK(c.goaway() == -1);
    c.advance(60s);
    CHECK(c.goaway() == 11); // it held back all of its connection
    http2_client one(routes());
    one.open_window(0, 10'000'000);
    one.ask(1, asking("GET", "/large"));
    one.advance(90s);
    CHECK(one.answers[1].reset == 11);
    CHECK(one.goaway() == -1);
    one.ask(3, asking("GET", "/"));
    CHECK(one.answers[3].ended);
}

TEST_CASE("http2: that a client has gone is no fault of a handler's") {
    http2_client c(routes());
    c.ask(1, asking("GET", "/ticks"));
    c.advance(1s);
    CHECK(c.answers[1].content == "tick\ntick\n");
    c.stream().refuse_writes();
    c.advance(1s);
    CHECK(c.ended_well());
    CHECK(c.errors.empty());
}

TEST_CASE("http2: of a client that has ended its side no stream is asked for more") {
    http2_client c(routes());
    c.open_window(0, 100'000'000);
    c.stream().set_room(100);
    for (std::uint32_t id = 1; id < 100; id += 2) // more than are kept for others
        c.stream().send(make_frame(headers_frame, end_headers | end_stream, id,
                                   encode(asking("GET", "/large"))));
    c.go_on();
    c.stream().finish();
    c.go_on();
    c.receive(); // now that all handlers have ended
    CHECK(c.ended_well());
    CHECK_FALSE(c.answers[1].ended);
}

TEST_CASE("http2: floods end in calm") {
    http2_client rapid(routes());
    for (std::uint32_t i = 1; i < 3'000 && rapid.goaway() == -1; i += 2) {
        rapid.send(make_frame(headers_frame, end_headers | end_stream, i,
                              encode(asking("GET", "/never"))) +
                   make_frame(reset_frame, 0, i, number(8)));
    }
    CHECK(rapid.goaway() == 11);
    http2_client provoked(routes());
    for (std::uint32_t i = 1; i < 3'000 && provoked.goaway() == -1; i += 2) {
        provoked.send(make_frame(headers_frame, end_headers | end_stream, i,
                                 encode(asking("GET", "/never"))) +
                      make_frame(window_frame, 0, i, number(0x7fffffff)));
    }
    CHECK(provoked.goaway() == 11);
    const auto flood = [](const std::string& bytes) {
        http2_client c(routes());
        c.ask(1, asking("POST", "/pieces"), false);
        for (int i = 0; i < 3'000 && c.goaway() == -1; ++i)
            c.send(bytes);
        return c.goaway();
    };
    CHECK(flood(make_frame(ping_frame, 0, 0, "12345678")) == 11);
    CHECK(flood(make_frame(settings_frame, 0, 0)) == 11);
    CHECK(flood(make_frame(data_frame, 0, 1)) == 11);
    CHECK(flood(make_frame(window_frame, 0, 0, number(1))) == 11);
    CHECK(flood(make_frame(priority_frame, 0, 5, number(0) + "x")) == 11);
    CHECK(flood(make_frame(0xbb, 0, 0)) == 11);
    http2_client endless(routes());
    endless.send(make_frame(headers_frame, end_stream, 1, encode(asking("GET", "/"))));
    for (int i = 0; i < 100 && endless.goaway() == -1; ++i)
        endless.send(make_frame(continuation_frame, 0, 1, encode({{"a", "b"}})));
    CHECK(endless.goaway() == 11);
}

TEST_CASE("http2: what is not HTTP/2 ends the connection, or its stream") {
    const auto code_of = [](const std::string& bytes) {
        http2_client c(routes());
        c.ask(1, asking("GET", "/"));
        c.send(bytes);
        return c.goaway();
    };
    CHECK(code_of(make_frame(data_frame, end_stream, 1, "x")) == 5);
    CHECK(code_of(make_frame(data_frame, end_stream, 3, "x")) == 1);
    CHECK(code_of(make_frame(headers_frame, end_headers | end_stream, 2,
                             encode(asking("GET", "/")))) == 1);
    CHECK(code_of(
              make_frame(headers_frame, end_headers | end_stream, 7, encode(asking("GET", "/"))) +
              make_frame(headers_frame, end_headers | end_stream, 5, encode(asking("GET", "/")))) ==
          1);
    CHECK(code_of(make_frame(priority_frame, 0, 5, number(5) + "x")) == 1);
    CHECK(code_of(make_frame(priority_frame, 0, 0, number(5) + "x")) == 1);
    CHECK(code_of(make_frame(priority_frame, 0, 5, "x")) == 6);
    CHECK(code_of(make_frame(window_frame, 0, 0, number(0))) == 1);
    CHECK(code_of(make_frame(window_frame, 0, 0, number(0x7fffffff))) == 3);
    CHECK(code_of(make_frame(ping_frame, 0, 0, "short")) == 6);
    CHECK(code_of(make_frame(ping_frame, 0, 1, "12345678")) == 1);
    CHECK(code_of(make_frame(goaway_frame, 0, 1, number(0) + number(0))) == 1);
    CHECK(code_of(make_frame(headers_frame, end_headers, 3, "\xff\xff\xff\xff\xff")) == 9);
    http2_client other(routes(), {}, false);
    other.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n");
    CHECK(other.goaway() == 1);
    http2_client c(routes());
    c.ask(1, {{":method", "GET"}, {":path", "/"}, {":authority", "here"}});
    CHECK(c.answers[1].reset == 1);
    c.ask(3, asking("GET", "/", {{"Upper", "x"}}));
    CHECK(c.answers[3].reset == 1);
    c.ask(5, asking("GET", "/", {{"connection", "close"}}));
    CHECK(c.answers[5].reset == 1);
    c.ask(7, asking("GET", "/", {{"te", "gzip"}}));
    CHECK(c.answers[7].reset == 1);
    c.ask(9, asking("POST", "/echo", {{"content-length", "3"}}), false);
    c.content(9, "four", true);
    CHECK(c.answers[9].reset == 1);
    c.ask(11, asking("GET", "/"));
    CHECK(c.answers[11].ended);
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: another protocol takes a stream over") {
    router made = routes();
    std::weak_ptr<int> captured;
    made.get("/shout", [&captured] {
        auto mine = std::make_shared<int>(0);
        captured = mine;
        return response::upgrade("shout", [mine](takeover& client) -> task<void> {
            while (auto line = co_await client.read_line()) {
                const std::string loud = *line + "!\n";
                co_await client.write(loud);
            }
        });
    });
    http2_client c(std::move(made));
    auto asked = asking("CONNECT", "/shout", {{":protocol", "shout"}});
    std::swap(asked[4], asked[1]);
    c.ask(1, asked, false);
    CHECK(c.answers[1].get(":status") == "200");
    CHECK(c.answers[1].get("upgrade").empty());
    CHECK_FALSE(c.answers[1].get("date").empty());
    CHECK(c.metrics().connections_taken_over == 1);
    CHECK_FALSE(captured.expired());
    c.content(1, "hel");
    c.content(1, "lo\n");
    CHECK(c.answers[1].content == "hello!\n");
    c.content(1, "", true);
    CHECK(c.answers[1].ended);
    CHECK(c.metrics().connections_taken_over == 0);
    CHECK(captured.expired()); // what the taker has captured ends with it
    c.ask(3, asking("GET", "/shout"));
    CHECK(c.answers[3].get(":status") == "400"); // a 426 would need Upgrade, which there is none of
    CHECK(c.goaway() == -1);
}

TEST_CASE("http2: what takes no stream over does not say so") {
    router made = routes();
    made.get("/plain", [] { return response::text("success"); });
    made.get("/streamed",
             [] { return response::stream([](body_writer& to) { return to.write("success"); }); });
    http2_client c(std::move(made));
    std::uint32_t stream = 1;
    for (const auto& [path, status] :
         {std::pair("/plain", "501"), std::pair("/streamed", "501"), std::pair("/none", "404")}) {
        auto asked = asking("CONNECT", path, {{":protocol", "websocket"}});
        std::swap(asked[4], asked[1]);
        c.ask(stream, asked, false);
        CHECK(c.answers[stream].get(":status") == status);
        CHECK(c.answers[stream].content.find("success") == std::string::npos);
        stream += 2;
    }
    c.ask(stream, asking("GET", "/plain"));
    CHECK(c.answers[stream].content == "success");
    CHECK(c.goaway() == -1);
}

} // namespace
} // namespace rota::http
