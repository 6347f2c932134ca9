// Ends that have been decided on and not been said yet.

#include "connection.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/sleep.hpp>

#include "client.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace test;

router small_routes() {
    router made;
    made.get("/", [] { return response::text("here"); })
        .post("/echo", [](const request&, std::string all) { return response::text(all); });
    return made;
}

router slow_routes() {
    router made;
    made.get("/slow", [](request&) -> task<response> {
        co_await sleep_for(1s);
        co_return response::text("slow");
    });
    return made;
}

std::string begin(std::uint32_t id, std::string path, bool last = true) {
    return make_frame(headers_frame, end_headers | (last ? end_stream : 0), id,
                      encode(asking(last ? "GET" : "POST", std::move(path))));
}

/// One whose third request is not served, as is decided while nothing can be said to it.
struct mute_client {
    int quick = 0;
    http2_client c{routes(), limits(), false};

    explicit mute_client(const std::vector<std::string>& behind) {
        c.hello(number(4, 2) + number(1'000'000));
        c.open_window(0, 1'000'000);
        c.stream().set_room(0);
        say(begin(1, "/large"));
        say(begin(3, "/all", false));
        for (const std::string& bytes : behind)
            say(bytes);
        c.stream().set_room(10'000'000);
        c.receive();
    }
    void say(const std::string& bytes) {
        c.stream().send(bytes);
        c.go_on();
    }
    router routes() {
        router made;
        made.get("/large", [] { return response::text(std::string(300'000, 'x')); })
            .get("/quick", [this] { return response::text(std::to_string(++quick)); })
            .post("/all", [](const request&, std::string all) { return response::text(all); });
        return made;
    }
    static server_limits limits() {
        server_limits made;
        made.requests_per_connection_max = 2;
        made.http2.connection_window_bytes = 65'535;
        return made;
    }
};

TEST_CASE("http2: a header section whose last frame does not end is no end") {
    // Behind requests that were answered, too.
    const std::string whole = make_frame(headers_frame, end_headers | end_stream, 3,
                                         encode(asking("GET", "/", {{"x", "y"}})));
    for (const std::size_t size : {std::size_t{9}, whole.size() - 1}) {
        CAPTURE(size);
        http2_client part(small_routes());
        part.ask(1, asking("GET", "/"));
        part.send(whole.substr(0, size));
        part.advance(9s);
        CHECK(part.goaway() == -1);
        part.advance(2s);
        CHECK(part.goaway() == 11);
    }
}

TEST_CASE("http2: a client without a request has as long as for its head, one behind some longer") {
    const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const std::string settings = make_frame(settings_frame, 0, 0);
    for (const std::string& said : {preface.substr(0, 10), preface, preface + settings}) {
        CAPTURE(said.size());
        http2_client mute(small_routes(), {}, false);
        mute.send(said);
        mute.advance(9s);
        if (said.size() < preface.size())
            mute.send(preface.substr(said.size())); // which renews nothing
        else if (said.size() > preface.size())
            mute.send(make_frame(ping_frame, 0, 0, "12345678")); // nor does this
        CHECK(mute.goaway() == -1);
        mute.advance(1s);
        CHECK(mute.goaway() == 0);
    }
    for (const bool right : {true, false}) {
        http2_client idle(small_routes());
        idle.advance(5s);
        idle.ask(1, asking("GET", "/", {{right ? "lower" : "Upper", "x"}}));
        idle.advance(59s);
        CHECK(idle.goaway() == -1);
        idle.advance(1s);
        CHECK(idle.goaway() == 0);
    }
}

TEST_CASE("http2: SETTINGS that make a window too large end all, whatever WINDOW_UPDATE did") {
    const std::string settings =
        make_frame(settings_frame, 0, 0, number(4, 2) + number(0x7fffffff));
    const std::string large = make_frame(window_frame, 0, 1, number(0x7fffffff));
    const std::string reset = make_frame(reset_frame, 0, 1, number(8));
    for (const std::string& before : {large, large + large, large + large + large, large + reset}) {
        http2_client c(slow_routes());
        c.ask(1, asking("GET", "/slow"));
        c.send(before);
        c.ask(3, asking("GET", "/slow"));
        CHECK(c.goaway() == -1);
        c.send(make_frame(window_frame, 0, 3, number(100)) + settings);
        CHECK(c.goaway() == 3);
    }
    http2_client behind(slow_routes()); // where it would be too much with the old window, too
    behind.ask(1, asking("GET", "/slow"));
    behind.send(make_frame(window_frame, 0, 1, number(100)) + settings + large);
    CHECK(behind.goaway() == 3);
    http2_client many(slow_routes());
    std::string all;
    for (std::uint32_t id = 1; id < 40; id += 2)
        all += make_frame(headers_frame, end_headers | end_stream, id,
                          encode(asking("GET", "/slow"))) +
               make_frame(window_frame, 0, id, number(0x7fffffff));
    many.send(all);
    for (std::uint32_t id = 1; id < 40; id += 2)
        CHECK(many.answers[id].reset == 3);
    CHECK(many.goaway() == -1);
}

TEST_CASE("http2: streams beyond the limit are refused, and what follows of them ends nothing") {
    http2_client c(small_routes());
    std::string heads;
    for (std::uint32_t id = 1; id < 600; id += 2)
        heads += make_frame(headers_frame, end_headers, id, encode(asking("POST", "/echo")));
    c.send(heads);
    for (std::uint32_t id = 1; id < 600; id += 2)
        c.content(id, "x", true);
    CHECK(c.goaway() == -1);
    std::size_t answered = 0;
    for (std::uint32_t id = 1; id < 600; id += 2) {
        const auto& answer = c.answers[id];
        answered += answer.ended ? 1 : 0;
        CHECK((answer.ended || answer.reset == 7)); // REFUSED_STREAM
    }
    CHECK(answered == 128);
}

TEST_CASE("http2: header sections that are unpacked for nothing end in calm") {
    const auto flood = [](http2_client& c, std::uint32_t id, std::uint32_t step) {
        for (int i = 0; i < 3'000 && c.goaway() != 11; ++i, id += step)
            c.send(make_frame(headers_frame, end_headers, id));
        return c.goaway();
    };
    http2_client malformed(small_routes());
    malformed.ask(1, asking("POST", "/echo", {{"Upper", "x"}}), false);
    CHECK(malformed.answers[1].reset == 1);
    CHECK(flood(malformed, 1, 0) == 11);
    http2_client unread(small_routes());
    unread.stream().set_room(0); // it is not told that it was reset
    unread.stream().send(make_frame(headers_frame, end_headers, 1,
                                    encode(asking("POST", "/echo", {{"Upper", "x"}}))));
    for (int i = 0; i < 1'500; ++i) {
        unread.stream().send(make_frame(headers_frame, end_headers, 1));
        unread.go_on();
    }
    unread.stream().set_room(10'000'000);
    unread.receive();
    CHECK(unread.goaway() == 11);
    http2_client drained(small_routes());
    drained.ask(1, asking("POST", "/echo"), false);
    drained.drain();
    drained.advance(200ms);
    CHECK(drained.goaways.size() == 2);
    for (std::uint32_t id = 3; id < 203; id += 2) // what was under way
        drained.ask(id, asking("GET", "/"));
    drained.content(1, "content", true);
    CHECK(drained.answers[1].content == "content");
    CHECK(drained.goaway() == 0);
    http2_client leaving(small_routes());
    leaving.ask(1, asking("POST", "/echo"), false);
    leaving.drain();
    leaving.advance(200ms);
    CHECK(flood(leaving, 3, 2) == 11);
}

router closing_routes() {
    router made = small_routes();
    for (const auto& [path, bytes] : {std::pair("/last", 10), std::pair("/large", 20'000)}) {
        made.get(path, [bytes = bytes] {
            response answer = response::text(std::string(static_cast<std::size_t>(bytes), 'x'));
            answer.close();
            return answer;
        });
    }
    return made;
}

TEST_CASE("http2: the last word stands behind the answer that it is for") {
    for (const char* const path : {"/last", "/large", "/"}) {
        CAPTURE(path);
        server_limits limits;
        if (std::string_view(path) == "/")
            limits.requests_per_connection_max = 2;
        http2_client c(closing_routes(), limits);
        c.ask(1, asking("GET", "/"));
        CHECK(c.goaway() == -1);
        c.ask(3, asking("GET", path));
        CHECK(c.answers[3].ended);
        CHECK(c.goaways == std::vector<std::pair<std::uint32_t, int>>{{3, 0}});
        CHECK(c.frames.back().type == goaway_frame);
    }
}

TEST_CASE("http2: a request behind the last is not served before that has been said, either") {
    mute_client client({begin(5, "/quick"), begin(7, "/all", false)});
    http2_client& c = client.c;
    CHECK(c.goaways == std::vector<std::pair<std::uint32_t, int>>{{3, 0}});
    CHECK(c.answers[1].ended);
    c.content(3, "content", true);
    CHECK(c.answers[3].content == "content");
    CHECK(client.quick == 0);
    CHECK(c.answers[5].heads.empty());
    CHECK(c.metrics().requests == 2);
}

TEST_CASE("http2: content of what is not served takes nothing from the others' window") {
    mute_client client({begin(5, "/all", false),
                        make_frame(data_frame, 0, 5, std::string(16'000, 'x')),
                        make_frame(data_frame, 0, 5, std::string(16'000, 'x')),
                        make_frame(data_frame, 0, 5, std::string(16'000, 'x'))});
    CHECK(client.c.windows[0] >= 40'000);
    CHECK(client.c.goaways == std::vector<std::pair<std::uint32_t, int>>{{3, 0}});
}

TEST_CASE("http2: a drain does not wait for content that nobody reads") {
    event answered;
    router made;
    made.post("/early", [&answered](request&) -> task<response> {
        co_await answered.wait();
        co_return response::text("enough");
    });
    http2_client c(std::move(made));
    c.ask(1, asking("POST", "/early"), false);
    c.drain();
    c.advance(200ms);
    answered.set();
    c.go_on();
    c.receive();
    CHECK(c.answers[1].content == "enough");
    c.advance(100ms); // step by step: each look comes by the one before
    c.advance(100ms);
    CHECK(c.stream().write_ended());
    c.advance(500ms);
    CHECK(c.ended_well());
}

TEST_CASE("http2: the last stream is not a later one when the connection fails") {
    std::string flood;
    for (int i = 0; i < 3'000; ++i)
        flood += make_frame(priority_frame, 0, 9, number(0) + "x");
    mute_client client({begin(5, "/quick"), flood});
    CHECK(client.c.goaway() == 11);
    for (const auto& [last, error] : client.c.goaways)
        CHECK(last == 3);
}

TEST_CASE("http2: a client that leaves has its answers, whatever stream it says was the last") {
    for (const std::uint32_t last : {0U, 1U, 2U, 3U, 0x7fff'fffeU, 0x7fff'ffffU, 0xffff'ffffU}) {
        CAPTURE(last);
        router made = small_routes();
        made.get("/late", [](request&) -> task<response> {
            co_await sleep_for(1s);
            co_return response::text("late");
        });
        http2_client c(std::move(made));
        const std::string words =
            make_frame(goaway_frame, 0, 0, number(last) + number(0) + "words behind it");
        const std::string all = begin(1, "/late") + words + words + begin(3, "/");
        for (const char byte : all)
            c.send({&byte, 1});
        CHECK(c.answers[3].content == "here");
        CHECK_FALSE(c.ended());
        c.advance(1s);
        CHECK(c.answers[1].content == "late");
        CHECK(c.goaway() == 0);
        c.finish();
        CHECK(c.ended_well());
    }
    http2_client together(small_routes());
    together.send(begin(1, "/") + make_frame(goaway_frame, 0, 0, number(0x7fff'ffff) + number(0)) +
                  begin(3, "/"));
    CHECK(together.answers[1].content == "here");
    CHECK(together.answers[3].content == "here");
    CHECK(together.goaway() == 0);
}

} // namespace
} // namespace rota::http
