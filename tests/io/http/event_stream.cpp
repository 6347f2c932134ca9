#include <rota/http/event_stream.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/http/chunked.hpp>
#include <rota/sleep.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

/// One client of a source.
class listening {
public:
    explicit listening(event_stream::source (*make)(listening&), event_stream_options options = {},
                       std::string_view fields = "")
        : options_(std::move(options)), driver_(routes(make)) {
        const std::string answer =
            driver_.exchange("GET /e HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n");
        const std::size_t end = answer.find("\r\n\r\n");
        REQUIRE(end != std::string::npos);
        head = answer.substr(0, end + 2);
        take(answer.substr(end + 4));
    }

    /// What has come since the last look, without its chunks.
    std::string receive() {
        for (std::string more = driver_.receive(); !more.empty(); more = driver_.receive())
            take(more); // each was to be taken before the next is written
        return std::exchange(content_, {});
    }
    std::string after(std::chrono::milliseconds time) {
        driver_.advance(time);
        return receive();
    }
    test::session_driver& driver() noexcept { return driver_; }
    [[nodiscard]] bool ended() const noexcept { return chunks_.complete(); }

    std::string head;
    event go;
    broadcast<shared_event> news{2};

private:
    router routes(event_stream::source (*make)(listening&)) {
        router made;
        made.get("/e", [this, make](request& r) -> task<response> {
            co_return event_stream::answer(r, make(*this), options_);
        });
        return made;
    }
    void take(std::string_view bytes) {
        while (!bytes.empty()) {
            const chunked_decoder::result got = chunks_.feed(bytes);
            if (got.what == chunked_decoder::event::piece)
                content_ += chunks_.piece();
            if (got.what == chunked_decoder::event::complete)
                return;
            bytes.remove_prefix(got.consumed);
        }
    }

    event_stream_options options_;
    test::session_driver driver_;
    chunked_decoder chunks_;
    std::string content_;
};

task<void> say_two(event_stream* to) {
    co_await to->send(server_event("one").id(1));
    co_await to->comment("a\nb");
    co_await to->send(server_event("two").id(2).type("t"));
}

task<void> wait_to_go(listening* with, event_stream* to) {
    co_await with->go.wait();
    co_await to->send(server_event("gone on"));
}

task<void> wait_for_ever(event_stream* to) {
    co_await sleep_until(std::chrono::steady_clock::time_point::max());
    co_await to->send(server_event("never"));
}

task<void> say_what_was_seen(event_stream* to) {
    const auto number = to->last_event_number(1'000);
    std::string text(to->last_event_id().value_or("none"));
    text += number ? ' ' + std::to_string(*number) : " no number";
    co_await to->send(server_event(std::move(text)));
}

task<void> fail(event_stream* to) {
    co_await to->send(server_event("one"));
    throw std::runtime_error("out of events");
}

event_stream::source two(listening&) {
    return [](event_stream& to) { return say_two(&to); };
}
event_stream::source seen(listening&) {
    return [](event_stream& to) { return say_what_was_seen(&to); };
}
event_stream::source waiting(listening& with) {
    return [&with](event_stream& to) { return wait_to_go(&with, &to); };
}
event_stream::source endless(listening&) {
    return [](event_stream& to) { return wait_for_ever(&to); };
}
event_stream::source failing(listening&) {
    return [](event_stream& to) { return fail(&to); };
}
event_stream::source following(listening& with) {
    return [&with](event_stream& to) {
        return to.follow(with.news, lag_policy::skip, shared_event(server_event("missed")));
    };
}
event_stream::source ending(listening& with) {
    return [&with](event_stream& to) {
        return to.follow(with.news, lag_policy::end, shared_event(server_event("missed")));
    };
}

} // namespace

TEST_CASE("an event as text/event-stream has it") {
    CHECK(server_event("x").text() == "data: x\n\n");
    CHECK(server_event("").text() == "data: \n\n");
    CHECK(server_event("x").id(7).type("t").retry(2s).text() ==
          "id: 7\nevent: t\nretry: 2000\ndata: x\n\n");
    CHECK(server_event("x").id("").text() == "id: \ndata: x\n\n");
    // Lines end by CR, LF or CRLF, so none of them can end the event or be another field.
    for (const auto& [data, lines] : {
             std::pair("a\nb", "data: a\ndata: b\n\n"),
             std::pair("a\rb", "data: a\ndata: b\n\n"),
             std::pair("a\r\nb", "data: a\ndata: b\n\n"),
             std::pair("a\n\rb", "data: a\ndata: \ndata: b\n\n"),
             std::pair("a\r\r\nb", "data: a\ndata: \ndata: b\n\n"),
             std::pair("a\n\nid: 1\n", "data: a\ndata: \ndata: id: 1\ndata: \n\n"),
             std::pair("\n", "data: \ndata: \n\n"),
             std::pair("\r\n", "data: \ndata: \n\n"),
             std::pair(" a: b", "data:  a: b\n\n"),
         }) {
        CAPTURE(data);
        CHECK(server_event(data).text() == lines);
    }
}

TEST_CASE("neither id nor type can be another line") {
    for (const std::string& text : {"a\nb"s, "a\rb"s, "\n"s, "a\0b"s, "a\r\ndata: x"s}) {
        CHECK_THROWS_AS(server_event("x").id(text), std::invalid_argument);
        CHECK_THROWS_AS(server_event("x").type(text), std::invalid_argument);
    }
    CHECK_NOTHROW(server_event("x").id("a b:c\x7f").type(": "));
    CHECK_THROWS_AS(server_event("x").retry(-1ms), std::invalid_argument);
    CHECK(server_event("x").retry(0ms).text() == "retry: 0\ndata: x\n\n");
}

TEST_CASE("the answer") {
    listening client(two, {.retry = 1500ms});
    CHECK(client.head.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(client.head.find("\r\nContent-Type: text/event-stream\r\n") != std::string::npos);
    CHECK(client.head.find("\r\nCache-Control: no-store\r\n") != std::string::npos);
    CHECK(client.receive() == "retry: 1500\n\nid: 1\ndata: one\n\n: a\n: b\n\n"
                              "id: 2\nevent: t\ndata: two\n\n");
    CHECK(client.ended());
    CHECK(client.driver().exchange("HEAD /e HTTP/1.1\r\nHost: x\r\n\r\n").ends_with("\r\n\r\n"));
}

TEST_CASE("the head is sent before there is an event") {
    listening client(waiting);
    CHECK(client.head.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(client.receive().empty());
    client.go.set();
    CHECK(client.after(0ms) == "data: gone on\n\n");
    CHECK(client.ended());
}

TEST_CASE("a comment where there is silence") {
    listening client(waiting);
    CHECK(client.after(14'999ms).empty());
    CHECK(client.after(2ms) == ":\n\n");
    CHECK(client.after(14'000ms).empty());
    client.go.set();
    CHECK(client.after(0ms) == "data: gone on\n\n");
    listening another(waiting, {.heartbeat = 100ms});
    for (int i = 0; i < 3; ++i)
        CHECK(another.after(101ms) == ":\n\n");
    listening silent(waiting, {.heartbeat = 0ms});
    CHECK(silent.after(1h).empty());
}

TEST_CASE("what the client has seen last") {
    for (const auto& [fields, expected] : {
             std::pair(""s, "none no number"s),
             std::pair("Last-Event-ID: 7\r\n"s, "7 7"s),
             std::pair("last-event-id:\t1000 \r\n"s, "1000 1000"s),
             std::pair("Last-Event-ID: 1001\r\n"s, "1001 no number"s),
             std::pair("Last-Event-ID: -1\r\n"s, "-1 no number"s),
             std::pair("Last-Event-ID: 7x\r\n"s, "7x no number"s),
             std::pair("Last-Event-ID: 99999999999999999999999\r\n"s,
                       "99999999999999999999999 no number"s),
             std::pair("Last-Event-ID:\r\n"s, "none no number"s),
             std::pair("Last-Event-ID: 1\r\nLast-Event-ID: 1\r\n"s, "none no number"s),
             std::pair("Last-Event-ID: " + std::string(1'025, '1') + "\r\n", "none no number"s),
         }) {
        CAPTURE(fields);
        listening client(seen, {}, fields);
        CHECK(client.receive() == "data: " + expected + "\n\n");
    }
}

TEST_CASE("it ends in good order when it is to") {
    std::stop_source draining;
    listening client(endless, {.until = draining.get_token()});
    draining.request_stop();
    CHECK(client.after(0ms).empty());
    CHECK(client.ended());
    CHECK(client.driver().errors().empty());
}

TEST_CASE("a source that fails cuts the answer") {
    listening client(failing);
    CHECK(client.receive() == "data: one\n\n");
    CHECK_FALSE(client.ended());
    CHECK(client.driver().ended());
    CHECK(client.driver().errors().size() == 1);
}

TEST_CASE("a client that has closed one side is served on") {
    listening client(waiting);
    client.driver().finish();
    CHECK(client.after(0ms) == ":\n\n");
    CHECK(client.after(999ms).empty());
    CHECK(client.after(1ms) == ":\n\n");
    CHECK(client.after(1s) == ":\n\n");
    client.go.set();
    CHECK(client.after(0ms) == "data: gone on\n\n");
    CHECK(client.ended());
}

TEST_CASE("a client that has gone ends its source") {
    listening client(endless);
    client.driver().stream().reset();
    (void)client.after(0ms);
    CHECK(client.driver().ended());
    CHECK(client.driver().errors().empty());
}

TEST_CASE("events for all") {
    listening client(following);
    listening second(following);
    client.news.send(shared_event(server_event("a").id(1)));
    CHECK(client.after(0ms) == "id: 1\ndata: a\n\n");
    for (const char* data : {"b", "c", "d", "e"})
        client.news.send(shared_event(server_event(data)));
    CHECK(client.after(0ms) == "data: missed\n\ndata: d\n\ndata: e\n\n");
    client.news.send(shared_event(server_event("f")));
    client.news.close();
    CHECK(client.after(0ms) == "data: f\n\n");
    CHECK(client.ended());
    second.news.close();
    CHECK(second.after(0ms).empty());
    CHECK(second.ended());
}

TEST_CASE("one that lags may be ended") {
    listening client(ending);
    for (const char* data : {"b", "c", "d", "e"})
        client.news.send(shared_event(server_event(data)));
    CHECK(client.after(0ms) == "data: missed\n\n");
    CHECK(client.ended());
}

} // namespace rota::http
