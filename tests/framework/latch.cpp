#include <rota/latch.hpp>

#include <atomic>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

TEST_CASE("a latch opens at zero and stays open") {
    rota::inline_scheduler scheduler;
    rota::latch l(3);
    int passed = 0;
    constexpr auto body = [](rota::latch* lt, int* count) -> rota::task<void> {
        co_await lt->wait();
        ++*count;
    };
    (void)scheduler.spawn(body(&l, &passed));
    const auto cancelled = scheduler.spawn(body(&l, &passed));
    scheduler.run();
    cancelled->request_stop();
    l.count_down();
    scheduler.run();
    REQUIRE(passed == 0);
    REQUIRE_FALSE(l.is_open());
    l.count_down(9);
    l.count_down();
    REQUIRE(l.is_open());
    scheduler.run();
    scheduler.run_task(body(&l, &passed));
    REQUIRE(passed == 2);
    REQUIRE(rota::latch(0).is_open());
}

TEST_CASE("all arrive before any goes on") {
    rota::runtime rt({.workers = 3});
    constexpr auto body = [](rota::latch* l, std::atomic<int>* in,
                             std::atomic<bool>* good) -> rota::task<void> {
        ++*in;
        co_await l->arrive_and_wait();
        if (*in != 30) {
            *good = false;
        }
    };
    rota::latch l(30);
    std::atomic<int> inside = 0;
    std::atomic<bool> good = true;
    for (int i = 0; i < 30; ++i) {
        (void)rt.spawn(body(&l, &inside, &good));
    }
    rt.join();
    REQUIRE(good);
}
