// What all WebSockets of a server keep of messages, in whole servers.

#include <string>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/websocket.hpp>

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

} // namespace rota::http
