// A conversation over a stream in memory; websocket.cpp has it on every backend.

#include "session.hpp"

#include <chrono>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/http/websocket.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>
#include <rota/with_timeout.hpp>

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

} // namespace
} // namespace rota::http
