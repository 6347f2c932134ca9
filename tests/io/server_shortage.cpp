// Servers that do not come to listen: for want of a thread or of memory, or since run() is dropped.

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/io/datagram_server.hpp>
#include <rota/io/server.hpp>

#include "allocations_left.hpp"
#include "limited_threads.hpp"
#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;
using ::test::allocations_left;
using ::test::failures_left;

namespace {

const endpoint anywhere = endpoint::ip("127.0.0.1", 0);

/// Runs a server; of its allocations the one behind so many fails.
template <class Server>
task<void> run_short(Server* s, long allocations) {
    failures_left = 1;
    allocations_left = allocations;
    task<void> running = s->run();
    co_await std::move(running);
}

template <class Server>
rota::routine_ptr spawn_short(context& ctx, Server& s, long allocations) {
    return ctx.workers().spawn(run_short(&s, allocations), {.report_errors = false});
}

} // namespace

TEST_CASE("nobody waits for a server that has no thread for signals") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    server s(ctx, [](connection) -> task<void> { co_return; }, {.listen = {anywhere}});
    {
        const ::test::few_threads shortage(0);
        CHECK_THROWS_AS(run_until_signalled(ctx, s), std::system_error);
    }
    CHECK(s.listening().empty());
}

TEST_CASE("nobody waits for a server that had no memory to begin, and it keeps nothing") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how, 1));
    // Where frames come from a pool, one that has run leaves room for those of the next: then it is
    // all the rest that has none.
    for (long allocations = -1; allocations < 4; ++allocations) {
        CAPTURE(allocations);
        auto given = std::make_shared<int>(0);
        const std::weak_ptr<int> alive = given;
        server s(ctx, [given](connection) -> task<void> { co_return; }, {.listen = {anywhere}});
        s.attach([given]() -> task<void> { co_return; });
        given.reset();
        const auto runner = spawn_short(ctx, s, allocations);
        CHECK(s.listening().empty() == (allocations >= 0));
        s.drain();
        runner->wait_stopped();
        CHECK((runner->error() != nullptr) == (allocations >= 0));
        CHECK(alive.expired());

        datagram_server d(
            ctx, [](datagram_socket) -> task<void> { co_return; }, anywhere);
        const auto receiver = spawn_short(ctx, d, allocations);
        CHECK(d.local().has_value() == (allocations < 0));
        d.drain();
        receiver->wait_stopped();
        CHECK((receiver->error() != nullptr) == (allocations >= 0));
    }
}

TEST_CASE("nobody waits for a run() that is dropped, and what it was given goes") {
    const combination how = each_combination();
    context ctx(options_for(how));
    auto given = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = given;

    server s(ctx, [given](connection) -> task<void> { co_return; }, {.listen = {anywhere}});
    s.also({anywhere}, [given](connection) -> task<void> { co_return; });
    s.attach([given]() -> task<void> { co_return; });
    datagram_server d(
        ctx, [given](datagram_socket) -> task<void> { co_return; }, anywhere);
    given.reset();
    task<void> serving = s.run();
    task<void> receiving = d.run();
    CHECK_THROWS_AS(s.run(), std::logic_error);
    CHECK_THROWS_AS(d.run(), std::logic_error);
    CHECK(!alive.expired());
    serving.drop();
    receiving.drop();
    CHECK(s.listening().empty());
    CHECK(!d.local().has_value());
    CHECK(alive.expired());
}
