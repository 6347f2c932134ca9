#include <rota/io/tls/stream.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/errors.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/context.hpp>
#include <rota/io/listener.hpp>
#include <rota/io/server.hpp>

#include "both_ends.hpp"

using namespace std::chrono_literals;
using namespace rota::io::tls;
using namespace rota::io::tls::test;
using rota::task;

namespace {

struct waiting_client {
    explicit waiting_client(const context& with) : over(with) {}
    const context& over;
    pipe_end pipe;
    std::unique_ptr<stream> tls = std::make_unique<stream>(pipe, over);
    rota::routine_ptr routine;
};

task<void> ask(rota::io::context* ctx, rota::io::endpoint where, const context* with) {
    for (int i = 0; i < 10; ++i) {
        rota::io::connection c = co_await rota::io::connect(*ctx, where);
        auto below = std::make_unique<rota::io::connection>(std::move(c));
        stream tls(std::move(below), *with, "b.test");
        co_await tls.handshake();
        const std::string long_line(100'000, 'x');
        co_await tls.write_line(long_line);
        const auto back = co_await tls.read_line(200'000);
        if (back != long_line)
            throw std::logic_error("another line");
        tls.shutdown_write();
        const bool more = co_await tls.fill();
        if (more)
            throw std::logic_error("more than that");
    }
}

} // namespace

TEST_CASE("a handshake that takes its time ends at its deadline") {
    context server(sample_server());
    waiting_client client(server);
    rota::inline_scheduler scheduler([](const rota::routine&, const std::exception_ptr&) {});
    const auto until = scheduler.now() + 10s;
    client.routine = scheduler.spawn(client.tls->handshake(until), {.name = "client"});
    for (const std::string byte : {"\x16", "\x03", "\x01"}) {
        scheduler.advance(3s);
        client.pipe.deliver(byte);
    }
    scheduler.run();
    CHECK(client.routine->state() != rota::routine_state::stopped);
    scheduler.advance(2s);
    REQUIRE(client.routine->state() == rota::routine_state::stopped);
    CHECK_THROWS_AS(std::rethrow_exception(client.routine->error()), rota::timed_out);
}

TEST_CASE("a handshake that the peer breaks off ends at once") {
    context server(sample_server());
    context client(sample_client());
    const bool of_server = GENERATE(false, true);
    both_ends ends(server, client, "b.test");
    ends.start({}, {});
    ends.scheduler.run();
    pipe_end& told = of_server ? ends.server_pipe : ends.client_pipe;
    std::string bytes = of_server ? ends.client_pipe.take() : std::string();
    bytes.append("\x15\x03\x03\x00\x02\x01\x00", 7); // close_notify
    told.deliver(bytes);
    ends.scheduler.run();
    CHECK(both_ends::failure_of(of_server ? ends.server_routine : ends.client_routine) ==
          failure::kind::protocol);
}

TEST_CASE("of too many at once the oldest is given up for the newest") {
    server_options options = sample_server();
    options.handshakes_max = 2;
    context server(options);
    rota::inline_scheduler scheduler([](const rota::routine&, const std::exception_ptr&) {});
    std::vector<std::unique_ptr<waiting_client>> all;
    for (int i = 0; i < 3; ++i) {
        waiting_client& c = *all.emplace_back(std::make_unique<waiting_client>(server));
        c.routine = scheduler.spawn(c.tls->handshake(), {.name = "client"});
        scheduler.run();
    }
    CHECK(both_ends::failure_of(all[0]->routine) == failure::kind::crowded);
    CHECK(all[1]->routine->state() != rota::routine_state::stopped);
    CHECK(all[2]->routine->state() != rota::routine_state::stopped);
    all[1]->routine->request_stop();
    all[2]->routine->request_stop();
    scheduler.run();
    CHECK(all[1]->routine->state() == rota::routine_state::stopped);
    CHECK_FALSE(all[1]->routine->error()); // it was asked to
}

TEST_CASE("a handshake whose last records were not sent is none") {
    server_options options = sample_server();
    options.handshakes_max = 1;
    context server(options);
    context client(sample_client());
    both_ends ends(server, client, "b.test");
    ends.start({}, {});
    ends.scheduler.run();
    ends.server_pipe.deliver(ends.client_pipe.take());
    ends.scheduler.run();
    ends.client_pipe.deliver(ends.server_pipe.take());
    ends.scheduler.run();
    ends.server_pipe.hold_writes();
    ends.server_pipe.deliver(ends.client_pipe.take());
    ends.scheduler.run();
    REQUIRE(ends.server_routine->state() != rota::routine_state::stopped);
    waiting_client newer(server);
    newer.routine = ends.scheduler.spawn(newer.tls->handshake(), {.name = "newer"});
    ends.scheduler.run();
    CHECK(both_ends::failure_of(ends.server_routine) == failure::kind::crowded);
    newer.routine->request_stop();
    ends.scheduler.run();
}

TEST_CASE("the peer is told why it is refused") {
    context server(sample_server());
    client_options how = sample_client();
    std::string told = "alert unknown ca";
    SECTION("its root is another") { how.roots = {made("other.pem")}; }
    SECTION("its key is another") {
        how.pins = {"sha256/" + std::string(43, 'A') + '='};
        told = "alert handshake failure";
    }
    context client(how);
    both_ends ends(server, client, "b.test");
    ends.start({}, {});
    ends.carry();
    CHECK(both_ends::failure_of(ends.client_routine) == failure::kind::certificate);
    CHECK(both_ends::failure_of(ends.server_routine) == failure::kind::protocol);
    try {
        std::rethrow_exception(ends.server_routine->error());
    } catch (const failure& f) {
        CHECK(std::string(f.what()).find(told) != std::string::npos);
    }
}

TEST_CASE("over sockets: heavy steps go elsewhere or not, and clients are served") {
    server_options options = sample_server();
    options.handshakes_at_once = GENERATE(std::size_t{0}, std::size_t{1'000});
    const context server_side(options);
    const context client_side(sample_client());
    rota::io::context ctx({.workers = 2});
    const auto serve = [&server_side](rota::io::connection c) -> task<void> {
        stream tls(c, server_side);
        co_await tls.handshake(std::chrono::steady_clock::now() + 10s);
        while (const auto line = co_await tls.read_line(200'000))
            co_await tls.write_line(*line);
    };
    rota::io::server server(ctx, serve, {.listen = {"127.0.0.1:0"}});
    const auto running = ctx.workers().spawn(server.run(), {.name = "server"});
    const rota::io::endpoint where = server.listening().front();
    std::vector<rota::routine_ptr> clients;
    for (int i = 0; i < 4; ++i)
        clients.push_back(ctx.workers().spawn(ask(&ctx, where, &client_side), {.name = "client"}));
    for (const auto& each : clients) {
        each->wait_stopped();
        CHECK_FALSE(each->error());
        if (each->error())
            std::rethrow_exception(each->error());
    }
    server.drain();
    running->wait_stopped();
    CHECK_FALSE(running->error());
}
