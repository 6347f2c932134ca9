#include "drain_watch.hpp"

#include <stop_token>
#include <thread>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("a drain ends idle waits only") {
    std::stop_source stop;
    std::stop_source drain;
    drain_watch busy(stop.get_token(), drain.get_token());
    drain_watch idle(stop.get_token(), drain.get_token());
    idle.enter_idle();
    CHECK_FALSE(idle.idle_token().stop_requested());
    drain.request_stop();
    CHECK(idle.idle_token().stop_requested());
    CHECK(busy.draining());
    CHECK_FALSE(busy.idle_token().stop_requested());
    busy.enter_idle(); // too late to wait for anything
    CHECK(busy.idle_token().stop_requested());
}

TEST_CASE("a wait that is over is not ended") {
    std::stop_source stop;
    std::stop_source drain;
    drain_watch watch(stop.get_token(), drain.get_token());
    watch.enter_idle();
    watch.leave_idle();
    drain.request_stop();
    CHECK_FALSE(watch.idle_token().stop_requested());
}

TEST_CASE("a stop ends every wait, with a drain in sight or without") {
    std::stop_source stop;
    std::stop_source drain;
    const drain_watch with(stop.get_token(), drain.get_token());
    const drain_watch without(stop.get_token(), {});
    stop.request_stop();
    CHECK(with.idle_token().stop_requested());
    CHECK(without.idle_token().stop_requested());
    CHECK_FALSE(without.draining());
}

TEST_CASE("a drain and the beginning of a wait never miss each other") {
    for (int round = 0; round < 2'000; ++round) {
        std::stop_source stop;
        std::stop_source drain;
        drain_watch watch(stop.get_token(), drain.get_token());
        {
            std::jthread other([&drain] { drain.request_stop(); });
            watch.enter_idle();
        }
        REQUIRE(watch.idle_token().stop_requested());
    }
}

} // namespace
} // namespace rota::http
