#include <rota/yield.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

namespace {

rota::task<void> deep(std::string* log, char what) {
    log->push_back(what);
    co_await rota::yield();
}

rota::task<void> loop(std::string* log, char what, int times) {
    for (int i = 0; i < times; ++i) {
        co_await deep(log, what);
    }
}

} // namespace

TEST_CASE("yield lets the others go first, also out of a nested task") {
    rota::inline_scheduler scheduler;
    std::string log;
    (void)scheduler.spawn(loop(&log, 'a', 3));
    (void)scheduler.spawn(loop(&log, 'b', 2));
    (void)scheduler.spawn(loop(&log, 'c', 1));
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "abcaba");
}

TEST_CASE("yield ends a loop when stop has been requested") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto r = scheduler.spawn(loop(&log, 'a', 1'000'000'000));
    for (int i = 0; i < 10; ++i) {
        REQUIRE(scheduler.run_one() == rota::run_status::ran_one);
        REQUIRE(r->state() == rota::routine_state::ready);
    }
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log.size() == 11);
}
