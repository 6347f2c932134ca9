#include "jobs/watch/store_watch.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

#include "allocations_left.hpp"
#include "store_driver.hpp"

using namespace jobs;
using namespace std::chrono_literals;

namespace {

const time_of_day no_offset([] { return 0ns; });

} // namespace

TEST_CASE("a store that works is up, and its queues are seen") {
    store_driver d("memory");
    d.add("one");
    rota::runtime runtime({.workers = 1});
    store_watch watch(d.store(), no_offset);
    const rota::routine_ptr probing = runtime.spawn(watch.probe());
    const rota::routine_ptr listing = runtime.spawn(watch.list());
    CHECK(runtime.block_on(watch.state()).up);
    const auto seen = runtime.block_on(watch.queues());
    REQUIRE(seen);
    CHECK(seen->queues.size() == 1);
    for (const rota::routine_ptr& each : {probing, listing}) {
        each->request_stop();
        each->wait_stopped();
    }
}

TEST_CASE("without memory a look waits until there is some, and ends when it is stopped") {
    store_driver d("memory");
    store_watch watch(d.store(), no_offset);
    std::vector<std::string> without;
    std::vector<std::string> with;
    bool over = false;
    const auto waits_of = [](const rota::inline_scheduler& scheduler) {
        std::vector<std::string> whats;
        for (const rota::blocked_routine& each : scheduler.blocked())
            whats.emplace_back(each.what);
        return whats;
    };
    std::jthread([&] { // which keeps no frames of others
        rota::inline_scheduler scheduler;
        const rota::routine_ptr looks[] = {scheduler.spawn(watch.probe()),
                                           scheduler.spawn(watch.list())};
        test::allocations_left = 0;
        scheduler.run();
        test::allocations_left = -1;
        without = waits_of(scheduler);
        scheduler.advance(100ms);
        with = waits_of(scheduler);
        for (const rota::routine_ptr& each : looks)
            each->request_stop();
        over = scheduler.run() == rota::run_status::no_routines;
    })
        .join();
    CHECK(without == std::vector<std::string>{"sleep", "sleep"});
    CHECK(with == std::vector<std::string>{"auto_event", "auto_event"});
    CHECK(over);
}

TEST_CASE("a store that does not answer is down, which takes two seconds to find") {
    store_driver d("memory");
    rota::runtime runtime({.workers = 1});
    store_watch watch(d.store(), no_offset); // nobody probes: as if it hung
    const store_state found = runtime.block_on(watch.state());
    CHECK_FALSE(found.up);
    CHECK(found.reason == "the job store does not answer");
    CHECK_FALSE(runtime.block_on(watch.queues()));
    // From now on it is probed, and found to be well.
    const rota::routine_ptr probing = runtime.spawn(watch.probe());
    while (!d.store().health().is_up())
        std::this_thread::yield();
    CHECK(runtime.block_on(watch.state()).up);
    probing->request_stop();
    probing->wait_stopped();
}
