// A conversation over a stream in memory; websocket.cpp has it on every backend.

#include "session.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/errors.hpp>
#include <rota/http/websocket.hpp>
#include <rota/inline_scheduler.hpp>
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

} // namespace
} // namespace rota::http
