#include "jobs/event_log.hpp"

#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

using namespace jobs;

namespace {

change of_job(std::uint64_t id) {
    change what;
    what.id = id;
    return what;
}

rota::task<void> wait_for(event_log* log, std::uint64_t number, int* woken) {
    co_await log->later(number);
    ++*woken;
}

} // namespace

TEST_CASE("the latest events are kept") {
    event_log log(3);
    CHECK(log.last() == 0);
    CHECK(log.last_gone() == 0);
    CHECK(log.after(0, 10).empty());
    for (std::uint64_t id = 1; id <= 5; ++id)
        log.add(of_job(id));
    CHECK(log.last() == 5);
    CHECK(log.last_gone() == 2);
    const std::vector<event> kept = log.after(0, 10);
    REQUIRE(kept.size() == 3);
    CHECK(kept[0].number == 3);
    CHECK(kept[0].job == 3);
    CHECK(log.after(3, 1).at(0).number == 4);
    CHECK(log.after(5, 10).empty());
    CHECK(log.after(9, 10).empty());
}

TEST_CASE("everybody who waits for a later one is woken") {
    rota::inline_scheduler scheduler;
    event_log log(3);
    int woken = 0;
    scheduler.spawn(wait_for(&log, 0, &woken));
    scheduler.spawn(wait_for(&log, 0, &woken));
    scheduler.spawn(wait_for(&log, 1, &woken));
    scheduler.run();
    CHECK(woken == 0);
    log.add(of_job(1));
    scheduler.run();
    CHECK(woken >= 2);
    log.add(of_job(2));
    scheduler.run();
    CHECK(woken == 3);
    scheduler.spawn(wait_for(&log, 1, &woken));
    scheduler.run();
    CHECK(woken == 4);
}
