// A conversation over a stream in memory; websocket.cpp has it on every backend.

#include "conversation.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/errors.hpp>
#include <rota/http/websocket.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/io/outbox.hpp>
#include <rota/io/shared_bytes.hpp>
#include <rota/routine.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>
#include <rota/yield.hpp>

#include "client_frames.hpp"
#include "io/http1/memory_stream.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a client's close that a read was given up at is answered by the next one") {
    inline_scheduler scheduler;
    test::memory_stream over(scheduler);
    websocket_options options;
    options.close_within = 1h;
    bool given_up = false;
    bool ended = false;
    const websocket_handler serve = [&](websocket ws) -> task<void> {
        co_await ws.send_text("first", std::chrono::steady_clock::time_point::max());
        try {
            co_await with_timeout(1s, ws.read());
        } catch (const timed_out&) {
            given_up = true;
        }
        ended = !co_await ws.read();
        CHECK(ws.close_code() == 4001);
    };
    over.set_room(1);
    const routine_ptr one =
        scheduler.spawn(serve_websocket(&over, {}, {}, &options, &serve), {.name = "websocket"});
    over.send(ws::test::close_frame(4001));
    scheduler.run();
    scheduler.advance(1s);
    CHECK(given_up);
    CHECK_FALSE(ended);
    CHECK(over.receive() == ws::test::answer(1, "first"));
    scheduler.run();
    CHECK(ended);
    CHECK(one->state() == routine_state::stopped);
    CHECK(one->error() == nullptr);
    CHECK(over.receive() == ws::test::answer_close(4001));
}

/// A conversation with a client of few bytes' room, with the test at its other end.
struct narrow {
    explicit narrow(websocket_handler what, bool deflate = false) : serve(std::move(what)) {
        over.set_room(100);
        options.rest_after = 1h;
        websocket_terms terms;
        terms.deflate = deflate;
        one = scheduler.spawn(serve_websocket(&over, std::move(terms), {}, &options, &serve),
                              {.name = "websocket"});
        scheduler.run();
    }
    narrow(const narrow&) = delete;
    narrow& operator=(const narrow&) = delete;
    ~narrow() {
        one->request_stop();
        scheduler.run();
    }
    void send(const std::string& bytes) {
        over.send(bytes);
        scheduler.run();
    }
    std::string receive() {
        std::string bytes = over.receive();
        scheduler.run();
        return bytes;
    }

    inline_scheduler scheduler;
    test::memory_stream over{scheduler};
    websocket_options options;
    const websocket_handler serve;
    routine_ptr one;
};

std::string hard_to_compress(std::size_t size) {
    std::string bytes(size, '\0');
    std::uint32_t state = 1;
    for (char& byte : bytes) {
        state = state * 1'664'525 + 1'013'904'223;
        byte = static_cast<char>(state >> 24);
    }
    return bytes;
}

io::deadline in(std::chrono::milliseconds length) { return worker::current()->now() + length; }

task<bool> is_late(websocket ws, const std::string* data, std::chrono::milliseconds length) {
    try {
        co_await ws.send_binary(*data, in(length));
    } catch (const timed_out&) {
        co_return true;
    }
    co_return false;
}

/// Reads until the end; each message and each limit of a second that has passed is noted.
task<void> note(websocket ws, std::string* noted) {
    for (;;) {
        bool late = false;
        try {
            const auto message = co_await ws.read(in(1s));
            if (!message)
                co_return;
            noted->append(message->data);
        } catch (const timed_out&) {
            late = true;
        }
        if (late)
            noted->append("-");
    }
}

TEST_CASE("a message that comes too slowly ends the conversation") {
    std::string noted;
    narrow c([&noted](websocket ws) { return note(ws, &noted); }); // which gives up each second
    const std::string slow = ws::test::frame(std::string(1'000, 'x'));
    c.send(slow.substr(0, 10));
    int sent = 0;
    while (c.one->state() != routine_state::stopped && sent < 100) {
        c.scheduler.advance(400ms);
        c.send(slow.substr(static_cast<std::size_t>(10 + sent++), 1));
    }
    CHECK(sent >= 25); // ten seconds
    CHECK(sent <= 27);
    CHECK(c.receive() == ws::test::answer_close(1008, "the message comes too slowly"));
}

TEST_CASE("a message that is merely slow is read, and so are slow pieces") {
    const auto send = [](narrow& c, std::size_t piece, std::chrono::milliseconds between) {
        const std::string all = ws::test::frame(std::string(100 * piece, 'x'));
        for (std::size_t at = 0; at < all.size(); at += piece) {
            c.send(all.substr(at, piece));
            c.scheduler.advance(between);
        }
    };
    std::size_t whole = 0;
    narrow slow([&whole](websocket ws) -> task<void> {
        while (const auto message = co_await ws.read())
            whole += message->data.size();
    });
    send(slow, 100, 400ms); // 250 bytes a second, for 40 seconds
    CHECK(whole == 10'000);
    std::size_t pieces = 0;
    narrow slower([&pieces](websocket ws) -> task<void> {
        while (const auto piece = co_await ws.read_piece())
            pieces += piece->data.size();
    });
    send(slower, 10, 10s);
    CHECK(pieces == 1'000);
}

/// As note(), while another routine sends a message that finds no room.
websocket_handler notes_beside(const std::string& message, std::string& noted) {
    return [&](websocket ws) -> task<void> {
        const auto body = [&](task_group& children) -> task<void> {
            children.spawn([&]() -> task<void> { co_await ws.send_binary(message); });
            co_await note(ws, &noted);
        };
        co_await with_task_group(body);
    };
}

/// As note(), behind a message that leaves no room.
websocket_handler notes_behind(const std::string& message, std::string& noted) {
    return [&](websocket ws) -> task<void> {
        co_await ws.send_binary(message, in(1h));
        co_await note(ws, &noted);
    };
}

TEST_CASE("a message whose turn does not come in time is not sent, and nothing is over") {
    const std::string first = hard_to_compress(1'000);
    const std::string second(GENERATE(1, 1'000, 100'000), 'b');
    const bool deflate = GENERATE(false, true);
    std::optional<bool> late;
    bool goes_on = false;
    narrow it(
        [&](websocket ws) -> task<void> {
            const auto body = [&](task_group& children) -> task<void> {
                children.spawn([&]() -> task<void> { co_await ws.send_binary(first); });
                co_await yield();
                late = co_await is_late(ws, &second, 1s);
                goes_on = !ws.is_closing();
            };
            co_await with_task_group(body);
        },
        deflate);
    it.scheduler.advance(999ms);
    CHECK_FALSE(late);
    it.scheduler.advance(1ms);
    CHECK(late == true);
    CHECK(goes_on);
    const std::string received = it.receive();
    if (!deflate)
        CHECK(received == ws::test::answer(2, first));
    CHECK(it.receive() == ws::test::answer_close(1000));
}

TEST_CASE("a message that finds no room in time is not begun, whatever its size") {
    const std::string first(1'000, 'a');
    const std::string second(GENERATE(65'526, 65'527, 65'536, 65'537), 'b');
    bool late = false;
    narrow it([&](websocket ws) -> task<void> {
        co_await ws.send_binary(first, in(1h));
        late = co_await is_late(ws, &second, 1s);
        co_await ws.send_text("goes on");
    });
    it.scheduler.advance(1s);
    CHECK(late);
    CHECK(it.receive() == ws::test::answer(2, first) + ws::test::answer(1, "goes on"));
    CHECK(it.receive() == ws::test::answer_close(1000));
}

TEST_CASE("reading goes on while a pong has no turn, and the newest one is sent") {
    const std::string message(GENERATE(1'000, 100'000), 'a');
    std::string noted;
    narrow it(notes_beside(message, noted));
    it.send(ws::test::frame("1", {.op = 9}));
    it.send(ws::test::frame("2", {.op = 9}) + ws::test::frame("hi"));
    CHECK(noted == "hi");
    it.scheduler.advance(1s);
    CHECK(noted == "hi-");
    it.send(ws::test::frame("3", {.op = 9}) + ws::test::frame("ho"));
    CHECK(noted == "hi-ho");
    std::string received = it.receive();
    received += it.receive();
    received += it.receive();
    CHECK(received == ws::test::answer(2, message) + ws::test::answer(10, "3"));
}

TEST_CASE("a pong waits for room, but nothing else for it") {
    const std::string message(1'000, 'a');
    std::string noted;
    narrow it(notes_behind(message, noted));
    it.send(ws::test::frame("1", {.op = 9}) + ws::test::frame("hi"));
    it.scheduler.advance(1s);
    CHECK(noted == "hi-");
    CHECK(it.receive() == ws::test::answer(2, message));
    CHECK(it.receive() == ws::test::answer(10, "1"));
    it.send(ws::test::close_frame(1000));
    CHECK(it.receive() == ws::test::answer_close(1000));
    CHECK(it.one->state() == routine_state::stopped);
}

TEST_CASE("a client that asks and asks, and takes no answer, is not read") {
    const std::string message(1'000, 'a');
    std::string noted;
    narrow it(notes_behind(message, noted));
    it.send(ws::test::frame("1", {.op = 9}) + ws::test::frame("hi"));
    it.send(ws::test::frame("2", {.op = 9}) + ws::test::frame("ho"));
    CHECK(noted == "hi");
    it.scheduler.advance(1s);
    CHECK(noted == "hi-ho"); // a read that was given up goes on with what is behind it
    CHECK(it.receive() == ws::test::answer(2, message));
    CHECK(it.receive() == ws::test::answer(10, "2"));
}

TEST_CASE("a pong that is owed goes before the next message, though nobody reads") {
    const std::string message(1'000, 'a');
    narrow it([&](websocket ws) -> task<void> {
        co_await ws.send_binary(message, in(1h));
        bool late = false;
        try {
            (void)co_await ws.read(in(1s));
        } catch (const timed_out&) {
            late = true;
        }
        CHECK(late);
        co_await sleep_for(1s);
        co_await ws.send_text("next");
    });
    it.send(ws::test::frame("1", {.op = 9}));
    it.scheduler.advance(1s);
    CHECK(it.receive() == ws::test::answer(2, message));
    CHECK(it.receive().empty());
    it.scheduler.advance(1s);
    CHECK(it.receive() ==
          ws::test::answer(10, "1") + ws::test::answer(1, "next") + ws::test::answer_close(1000));
}

TEST_CASE("a client has gone_after from when the ping is written, and is heard meanwhile") {
    const std::string message(1'000, 'a');
    std::string noted;
    narrow it(GENERATE(true, false) ? notes_beside(message, noted) : notes_behind(message, noted));
    it.scheduler.advance(100s);
    CHECK(noted.size() == 100);
    it.send(ws::test::frame("x"));
    CHECK(noted.ends_with("x"));
    it.scheduler.advance(30s);
    CHECK(it.receive() == ws::test::answer(2, message));
    CHECK(it.receive() == ws::test::answer(9, ""));
    it.scheduler.advance(29s);
    CHECK_FALSE(it.over.aborted());
    it.scheduler.advance(1s);
    CHECK(it.over.aborted());
}

TEST_CASE("a goodbye that finds no room in time is said by the next read") {
    const std::string message(1'000, 'a');
    const auto& [bytes, code] = GENERATE(std::pair(ws::test::close_frame(4001), 4001U),
                                         std::pair(ws::test::close_frame(999), 1002U),
                                         std::pair(ws::test::frame("", {.masked = false}), 1002U));
    std::string noted;
    narrow it(notes_behind(message, noted));
    it.send(bytes);
    it.scheduler.advance(2s);
    CHECK(noted == "--");
    CHECK(it.receive() == ws::test::answer(2, message));
    const std::string goodbye = it.receive();
    CHECK(goodbye.substr(2, 2) == ws::test::answer_close(code).substr(2));
    CHECK(it.one->state() == routine_state::stopped);
    CHECK(it.one->error() == nullptr);
}

task<void> echo_pieces(websocket ws) {
    while (const auto piece = co_await ws.read_piece())
        co_await ws.send(*piece);
}

TEST_CASE("pieces that are sent as they come are one message") {
    narrow client(echo_pieces, GENERATE(false, true));
    client.over.set_room(1'000'000);
    client.send(ws::test::frame("gr\xc3", {.fin = false}));
    client.send(ws::test::frame("?", {.op = 9}));
    client.send(ws::test::frame("\xbc\xc3\x9f", {.op = 0, .fin = false}));
    client.send(ws::test::frame("e", {.op = 0}) + ws::test::frame("b", {.op = 2}));
    const auto sent = [](std::string_view data, int op, bool fin) {
        return ws::test::frame(data, {.op = op, .fin = fin, .masked = false});
    };
    CHECK(client.receive() == sent("gr\xc3", 1, false) + sent("?", 10, true) +
                                  sent("\xbc\xc3\x9f", 0, false) + sent("e", 0, true) +
                                  sent("b", 2, true));
}

task<void> say(websocket ws, std::string_view data, bool text, bool last) {
    const websocket_message piece{data, text, last};
    co_await ws.send(piece);
}

TEST_CASE("much for many is shared, with room for it and without, and little is copied") {
    inline_scheduler scheduler;
    test::memory_stream over(scheduler);
    over.take_shared();
    const websocket_options options;
    io::outbox out({.bytes_max = 1'000'000});
    const websocket_handler serve = [&](websocket ws) -> task<void> {
        co_await ws.serve(out, note(ws, nullptr));
    };
    const routine_ptr one =
        scheduler.spawn(serve_websocket(&over, {}, {}, &options, &serve), {.name = "websocket"});
    scheduler.run();
    const std::string big(100'000, 'b');
    const io::shared_bytes message = websocket::binary_frame(big);
    CHECK(out.try_send(websocket::text_frame("small")));
    scheduler.run();
    CHECK(over.shared() == 0);
    over.set_room(1'000);
    CHECK(out.try_send(message));
    CHECK(out.try_send(message));
    scheduler.run();
    CHECK((over.receive() ==
           ws::test::answer(1, "small") + ws::test::answer(2, big) + ws::test::answer(2, big)));
    CHECK(over.shared() == 2 * message.size());
    one->request_stop();
    scheduler.run();
}

TEST_CASE("messages of others wait for the last piece, or for the end") {
    const bool closes = GENERATE(false, true);
    const std::string others(GENERATE(1, 100, 100'000), 'b');
    bool refused = false;
    bool late = false;
    narrow client(
        [&](websocket ws) -> task<void> {
            const auto body = [&](task_group& children) -> task<void> {
                co_await say(ws, "first", false, false);
                children.spawn([&]() -> task<void> {
                    try {
                        co_await ws.send_binary(others);
                    } catch (const std::system_error&) {
                        refused = true;
                    }
                });
                late = co_await is_late(ws, &others, 1s);
                if (closes)
                    co_await ws.close(4001);
                else
                    co_await say(ws, "last", false, true);
            };
            co_await with_task_group(body);
        },
        GENERATE(false, true));
    client.over.set_room(1'000'000);
    client.scheduler.advance(2s);
    const std::string got = client.receive();
    CHECK(late);
    CHECK(got.starts_with(ws::test::frame("first", {.op = 2, .fin = false, .masked = false})));
    CHECK(refused == closes);
    const std::string last = ws::test::answer(0, "last");
    CHECK((got.find(last) == 7) != closes);
    CHECK(closes == got.ends_with(ws::test::answer_close(4001)));
}

task<bool> is_refused(websocket ws, std::string_view data, bool text, bool last) {
    try {
        co_await say(ws, data, text, last);
    } catch (const std::invalid_argument&) {
        co_return true;
    }
    co_return false;
}

TEST_CASE("text in pieces is UTF-8, and of one kind") {
    int refused = 0;
    narrow client([&](websocket ws) -> task<void> {
        CHECK(co_await is_refused(ws, "\xff", true, true));
        CHECK(co_await is_refused(ws, "\xc3", true, true));
        co_await say(ws, "\xc3", true, false);
        CHECK(co_await is_refused(ws, "x", true, false));
        CHECK(co_await is_refused(ws, "", true, true));
        CHECK(co_await is_refused(ws, "\xa4", false, true));
        co_await say(ws, "\xa4", true, true);
        ++refused;
    });
    CHECK(refused == 1);
    CHECK(client.receive().starts_with(
        ws::test::frame("\xc3", {.op = 1, .fin = false, .masked = false}) +
        ws::test::answer(0, "\xa4")));
}

} // namespace
} // namespace rota::http
