// What all WebSockets of a server keep of messages, in whole servers.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/websocket.hpp>
#include <rota/io/outbox.hpp>

#include "io/watched.hpp"
#include "peer.hpp"

namespace rota::http {
namespace {

using ws::test::answer;
using ws::test::answer_close;
using ws::test::frame;

constexpr std::size_t kept_step = memory_budget::step;

task<void> echo_large(websocket ws) {
    while (const auto message = co_await ws.read())
        co_await ws.send(*message);
}

} // namespace

TEST_CASE("messages that are put together have a bound over all", "[server]") {
    io::context ctx(two_workers(each_layout()));
    router made;
    made.get("/", serve_websockets(echo_large));
    server_options options;
    options.content_memory_bytes_max = 4 * kept_step;
    running s(ctx, std::move(made), std::move(options));
    const std::string large(5 * kept_step, 'x');
    {
        const peer keeps(s.address());
        keeps.send(frame(large, {.fin = false}) + frame("", {.op = 9}));
        CHECK(keeps.gets(answer(10, ""))); // so it has been read
        {
            const peer refused(s.address());
            refused.send(frame(std::string(kept_step + 1, 'y')));
            CHECK(refused.read_all() ==
                  answer_close(1013, "the memory for messages is used up at the moment") + "<end>");
        }
        const peer neighbour(s.address());
        neighbour.send(frame(std::string(kept_step, 'z')));
        CHECK(neighbour.gets(answer(1, std::string(kept_step, 'z'))));
        keeps.send(frame("", {.op = 0}));
        CHECK(keeps.gets(answer(1, large)));
        keeps.send(frame("small"));
        CHECK(keeps.gets(answer(1, "small")));
        keeps.send(frame("small"));
        CHECK(keeps.gets(answer(1, "small"))); // so it has given back what it does not need
        neighbour.send(frame(large));
        CHECK(neighbour.gets(answer(1, large)));
    }
    s.drain_and_join();
}

TEST_CASE("what waits for a client is shared, not copied, by HTTP/1.1 in clear", "[server]") {
    io::context ctx(two_workers(each_layout()));
    std::atomic<io::outbox*> outbox{nullptr};
    router made;
    made.get("/", serve_websockets([&](websocket ws) -> task<void> {
                 io::outbox out({.bytes_max = 25'000, .policy = io::when_full::drop_newest});
                 outbox = &out;
                 co_await ws.serve(out, echo_large(ws));
             }));
    running s(ctx, std::move(made));
    const std::string big(10'000, 'x');
    const io::test::watched w(std::string(websocket::binary_frame(big).view()));
    const peer deaf(s.address());
    while (outbox == nullptr)
        std::this_thread::yield();
    // Two are in the outbox, one waits to be queued, one may be on its way between them.
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (w.holders() < 8 && std::chrono::steady_clock::now() < give_up) {
        static_cast<void>(outbox.load()->try_send(w.bytes));
        std::this_thread::yield();
    }
    CHECK(w.holders() >= 8);
}

} // namespace rota::http
