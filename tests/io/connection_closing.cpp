// How a connection_core ends.

#include <cerrno>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "core_set_up.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

TEST_CASE("the descriptor is closed after the last completion, not before") {
    SECTION("the receive ends by the shutdown") {
        set_up s;
        s.close();
        CHECK(s.other.receive().empty());
        s.run();
        CHECK(!s.was_cancelled());
        CHECK(s.descriptor_is_open());
        CHECK(!s.gone);
        s.end_receive(0);
        s.run();
        CHECK(s.gone);
        CHECK(!s.descriptor_is_open());
        CHECK(s.reads.calls.size() == 1);
    }
    SECTION("the receive has ended by itself") {
        set_up s;
        s.end_receive(0);
        s.side.turn(never, false); // on its way to the worker
        s.close();
        CHECK(!s.gone);
        s.scheduler.run();
        CHECK(s.gone);
        CHECK(s.arms() == 1);
    }
    SECTION("where nothing can be shut down, the receive is cancelled") {
        set_up s(set_up::with::nobody);
        s.close();
        s.run();
        CHECK(s.was_cancelled());
        CHECK(s.descriptor_is_open());
        s.end_receive(-ECANCELED);
        s.run();
        CHECK(s.gone);
    }
    SECTION("nothing is armed") {
        set_up s;
        s.end_receive(0);
        s.run();
        s.close();
        CHECK(s.gone);
    }
}

TEST_CASE("what arrives for a closed connection is dropped, its buffers go back") {
    set_up s;
    s.writes.results = {0};
    s.under_baton([&] { s.core->out().queue("lingers", true); });
    s.close();
    s.run();
    CHECK(!s.gone);
    s.arrive("late");
    s.run();
    CHECK(s.buffers_at_home() == 4);
    // The peer has still room for nothing; then it has.
    s.reads.complete(*s.reads.calls.back().second, POLLOUT);
    s.run();
    CHECK(s.writes.sent == "lingers");
    s.arrive("later still");
    s.end_receive(0);
    s.run();
    CHECK(s.gone);
    CHECK(s.buffers_at_home() == 4);
}

TEST_CASE("the linger time ends what the peer does not take") {
    set_up s;
    s.writes.results = {0};
    s.under_baton([&] { s.core->out().queue("lingers", true); });
    s.close();
    s.run();
    operation* const poll = s.reads.calls.back().second;
    s.scheduler.advance(999ms);
    s.run();
    CHECK(!s.was_cancelled());
    s.scheduler.advance(1ms);
    s.run();
    CHECK(s.was_cancelled());
    s.reads.complete(*poll, -ECANCELED);
    s.run();
    s.end_receive(-ECANCELED);
    s.run();
    CHECK(s.gone);
    CHECK(s.writes.sent.empty());
}

TEST_CASE("an abort of what is closing ends it") {
    set_up s;
    s.writes.results = {0};
    s.under_baton([&] { s.core->out().queue("lingers", true); });
    s.close();
    s.run();
    operation* const poll = s.reads.calls.back().second;
    s.io.request_end();
    s.run();
    s.end_receive(-ECANCELED);
    s.run();
    CHECK(!s.gone); // the poll is still the kernel's
    s.reads.complete(*poll, -ECANCELED);
    s.run();
    CHECK(s.gone);
    CHECK(s.home.timers().armed() == 0);
}

TEST_CASE("an abort cancels a receive that the shutdown has not ended") {
    set_up s;
    s.close();
    s.run();
    REQUIRE(!s.gone);
    REQUIRE(!s.was_cancelled());
    s.io.request_end();
    s.run();
    CHECK(s.was_cancelled());
    CHECK(!s.gone);
    s.end_receive(-ECANCELED);
    s.run();
    CHECK(s.gone);
}

TEST_CASE("an abort before the close sends nothing more") {
    set_up s;
    s.under_baton([&] {
        s.core->out().queue("never", true);
        s.core->abort();
    });
    s.run();
    s.end_receive(-ECANCELED);
    s.run();
    CHECK(!s.gone); // the handle is still there
    s.close();
    s.run();
    CHECK(s.gone);
    CHECK(s.writes.sent.empty());
}
