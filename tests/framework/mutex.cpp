#include <rota/mutex.hpp>

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/yield.hpp>

#include "death.hpp"

namespace {

rota::task<void> enter(rota::mutex* m, std::string* log, char what) {
    const rota::mutex::guard held = co_await m->lock();
    log->push_back(what);
    co_await rota::yield();
    log->push_back(what);
}

} // namespace

TEST_CASE("one at a time, in order of arrival") {
    rota::inline_scheduler scheduler;
    rota::mutex m;
    std::string log;
    for (const char what : std::string("abcd")) {
        (void)scheduler.spawn(enter(&m, &log, what));
    }
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "aabbccdd");
}

TEST_CASE("none overtakes the one that has been handed the mutex") {
    rota::inline_scheduler scheduler;
    rota::mutex m;
    std::string log;
    auto held = m.try_lock();
    REQUIRE(held);
    REQUIRE_FALSE(m.try_lock());
    (void)scheduler.spawn(enter(&m, &log, 'a'));
    scheduler.run();
    REQUIRE(scheduler.blocked()[0].what == "mutex::lock");
    held->unlock();
    REQUIRE_FALSE(held->owns_lock());
    REQUIRE_FALSE(m.try_lock()); // it is a's, though a has not run yet
    scheduler.run();
    REQUIRE(log == "aa");
    REQUIRE(m.try_lock());
}

TEST_CASE("a cancelled waiter leaves the line, one that has been served does not") {
    rota::inline_scheduler scheduler;
    rota::mutex m;
    std::string log;
    auto held = m.try_lock();
    const auto a = scheduler.spawn(enter(&m, &log, 'a'));
    const auto b = scheduler.spawn(enter(&m, &log, 'b'));
    scheduler.run();
    a->request_stop();
    held.reset();
    b->request_stop(); // too late for the lock, in time for the yield that follows
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "b");
    REQUIRE(m.try_lock());
}

TEST_CASE("state is guarded across waits, on several workers") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    rota::mutex m;
    int inside = 0;
    int passed = 0;
    constexpr auto body = [](rota::mutex* mx, int* in, int* count) -> rota::task<void> {
        for (int i = 0; i < 200; ++i) {
            const rota::mutex::guard held = co_await mx->lock();
            *count += ++*in == 1 ? 1 : 0;
            co_await rota::yield();
            --*in;
        }
    };
    for (int i = 0; i < 12; ++i) {
        (void)rt.spawn(body(&m, &inside, &passed));
    }
    rt.join();
    REQUIRE(passed == 2400);
}

TEST_CASE("a guard that gets another's gives back its own at once") {
    rota::mutex one;
    rota::mutex two;
    auto held = std::move(*one.try_lock());
    auto next = std::move(*two.try_lock());
    held = std::move(next);
    REQUIRE_FALSE(next.owns_lock());
    REQUIRE(held.owns_lock());
    REQUIRE(one.try_lock());
    REQUIRE_FALSE(two.try_lock());
}

TEST_CASE("a mutex that goes before its guard ends the program with words") {
    CHECK(last_words([] {
              std::optional<rota::mutex::guard> held;
              rota::mutex gone;
              held = gone.try_lock();
          }).find("a mutex outlives its guards") != std::string::npos);
}
