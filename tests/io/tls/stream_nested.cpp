// TLS over TLS: each stream is one that another may be over.

#include <rota/io/tls/stream.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/with_timeout.hpp>

#include "made_files.hpp"
#include "pipe.hpp"

using namespace std::chrono_literals;
using namespace rota::io::tls;
using namespace rota::io::tls::test;
using rota::task;

namespace {

struct nested_side {
    pipe_end pipe;
    std::unique_ptr<stream> top;
};

/// Two sides that have agreed on so many levels.
class nested_ends {
public:
    explicit nested_ends(int levels) {
        for (int i = 0; i < levels; ++i) {
            if (i == 0) {
                server.top = std::make_unique<stream>(server.pipe, server_side_);
                client.top = std::make_unique<stream>(client.pipe, client_side_, "b.test");
            } else {
                server.top = std::make_unique<stream>(std::move(server.top), server_side_);
                client.top =
                    std::make_unique<stream>(std::move(client.top), client_side_, "b.test");
            }
            const auto one = scheduler.spawn(server.top->handshake(), {.name = "server"});
            const auto other = scheduler.spawn(client.top->handshake(), {.name = "client"});
            carry();
            REQUIRE(one->state() == rota::routine_state::stopped);
            REQUIRE(other->state() == rota::routine_state::stopped);
        }
    }
    void carry() {
        test::carry(client.pipe, server.pipe, 1'000'000, [this] { scheduler.run(); });
    }
    /// What the client reads until the end, which has to come.
    std::string received() {
        std::string all;
        const auto reading = scheduler.spawn(collect(client.top.get(), &all), {.name = "reader"});
        carry();
        const bool ended = reading->state() == rota::routine_state::stopped;
        reading->request_stop();
        scheduler.run();
        REQUIRE(ended);
        REQUIRE_FALSE(reading->error());
        return all;
    }
    /// Runs it to its end, with nothing carried.
    void run(task<void> what) { scheduler.run_task(std::move(what)); }

private:
    static task<void> collect(stream* from, std::string* into) {
        while (const auto more = co_await from->read())
            *into += *more;
    }

    context server_side_{sample_server()};
    context client_side_{sample_client()};

public:
    rota::inline_scheduler scheduler{[](const rota::routine&, const std::exception_ptr&) {}};
    nested_side server;
    nested_side client;
};

} // namespace

TEST_CASE("what is written to TLS over TLS arrives, by whatever call") {
    const int levels = GENERATE(1, 2, 3);
    CAPTURE(levels);
    nested_ends ends(levels);
    stream& s = *ends.server.top;
    const std::string large(100'000, 'l');
    CHECK(s.try_write("tried, "));
    ends.run(s.write("written, "));
    CHECK(s.try_write_last("last, "));
    ends.run(s.write_owned(large));
    CHECK(s.try_write(large));
    ends.run(s.write("again"));
    s.shutdown_write();
    CHECK_FALSE(s.try_write("x"));
    CHECK_FALSE(s.try_write_last("x"));
    CHECK_FALSE(s.try_write_last(""));
    CHECK((ends.received() == "tried, written, last, " + large + large + "again"));
    CHECK(ends.server.pipe.write_ended());
    ends.run(s.flush());
}

TEST_CASE("TLS over TLS that has no room ends, and is written past, as one of TLS") {
    const int levels = GENERATE(1, 2, 3);
    const int how = GENERATE(0, 1, 2, 3);
    CAPTURE(levels, how);
    nested_ends ends(levels);
    ends.server.pipe.set_room(1'000);
    ends.server.pipe.keep();
    stream& s = *ends.server.top;
    std::string sent(2'000, 'f');
    ends.run(s.write(sent, ends.scheduler.now() + 1s));
    REQUIRE_FALSE(s.has_room(0));
    REQUIRE_FALSE(s.try_write("x"));
    bool late = false;
    const auto write = [&](std::string bytes) -> task<void> {
        try {
            co_await rota::with_timeout(1s, s.write(bytes));
        } catch (const rota::timed_out&) {
            late = true;
        }
    };
    if (how == 1) { // the wait is given up, and it has been queued
        const std::string more(3'000, 'X');
        const auto writing = ends.scheduler.spawn(write(more), {.name = "writer"});
        ends.scheduler.run();
        ends.scheduler.advance(2s);
        CHECK(writing->state() == rota::routine_state::stopped);
        CHECK(late);
        sent += more;
    } else if (how == 2) {
        CHECK(s.try_write_last(""));
        CHECK(s.try_write_last("last"));
        sent += "last";
    }
    if (how == 3)
        ends.server.top.reset();
    else
        s.shutdown_write();
    ends.server.pipe.keep(false);
    CHECK((ends.received() == sent));
    CHECK(ends.server.pipe.write_ended() == (how != 3));
}
