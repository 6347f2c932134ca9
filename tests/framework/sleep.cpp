#include <rota/sleep.hpp>

#include <string>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<void> note_after(std::string* log, char what, std::chrono::milliseconds length) {
    co_await rota::sleep_for(length);
    log->push_back(what);
}

} // namespace

TEST_CASE("sleepers wake in the order of their times, equal times in order of arrival") {
    rota::inline_scheduler scheduler;
    std::string log;
    (void)scheduler.spawn(note_after(&log, 'd', 70ms));
    (void)scheduler.spawn(note_after(&log, 'b', 20ms));
    (void)scheduler.spawn(note_after(&log, 'c', 20ms));
    (void)scheduler.spawn(note_after(&log, 'a', 0ms));
    (void)scheduler.spawn(note_after(&log, 'e', 100h));
    scheduler.advance(101h);
    REQUIRE(log == "abcde");
}

TEST_CASE("a stop request ends a sleep and disarms its timer") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto r = scheduler.spawn(note_after(&log, 'x', 1h));
    scheduler.run();
    REQUIRE(scheduler.home().timers().armed() == 1);
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(scheduler.home().timers().armed() == 0);
    REQUIRE(log.empty());
    REQUIRE(r->error() == nullptr);
}

TEST_CASE("a sleep that starts with the stop requested does not wait") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto r = scheduler.spawn(note_after(&log, 'x', 1h));
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log.empty());
}

TEST_CASE("sleeps on worker threads end, and are cancelled from other threads") {
    rota::runtime rt({.workers = 2});
    rt.block_on(rota::sleep_for(1ms));
    for (int i = 0; i < 200; ++i) {
        std::string log;
        const auto r = rt.spawn(note_after(&log, 'x', i % 2 == 0 ? 1ms : 1h));
        std::jthread stopper([r] { r->request_stop(); });
        r->wait_stopped();
        REQUIRE(r->error() == nullptr);
    }
}
