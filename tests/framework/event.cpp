#include <rota/event.hpp>

#include <thread>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

namespace {

rota::task<void> pass(rota::event* e, int* count) {
    co_await e->wait();
    ++*count;
}

} // namespace

TEST_CASE("set lets everybody through until reset") {
    rota::inline_scheduler scheduler;
    rota::event e;
    int passed = 0;
    (void)scheduler.spawn(pass(&e, &passed));
    (void)scheduler.spawn(pass(&e, &passed));
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    REQUIRE(scheduler.blocked()[0].what == "event");
    e.set();
    e.reset(); // those that were woken go on
    scheduler.run();
    REQUIRE(passed == 2);
    (void)scheduler.spawn(pass(&e, &passed));
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    e.set();
    REQUIRE(e.is_set());
    scheduler.run_task(pass(&e, &passed));
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(passed == 4);
}

TEST_CASE("a wait for an event is cancelled") {
    rota::inline_scheduler scheduler;
    rota::event e;
    int passed = 0;
    const auto r = scheduler.spawn(pass(&e, &passed));
    scheduler.run();
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    e.set();
    REQUIRE(passed == 0);
}

TEST_CASE("set, wait and stop race") {
    rota::runtime rt({.workers = 2});
    for (int i = 0; i < 500; ++i) {
        rota::event e;
        int passed = 0;
        const auto r = rt.spawn(pass(&e, &passed));
        rt.start();
        std::jthread stopper([r, i] {
            if (i % 2 == 0) {
                r->request_stop();
            }
        });
        e.set();
        r->wait_stopped();
        REQUIRE(passed >= i % 2);
    }
}
