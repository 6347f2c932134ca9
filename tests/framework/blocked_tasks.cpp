#include <rota/blocked_tasks.hpp>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>

namespace {

struct door final : rota::blocker {
    bool is_blocked() const noexcept override {
        ++looks;
        return !open.load();
    }
    std::atomic<bool> open = false;
    mutable std::atomic<int> looks = 0;
};

/// Lets one through each time: one that is woken may find that another was quicker.
struct turnstile final : rota::blocker {
    bool is_blocked() const noexcept override { return coins.load() <= 0; }
    bool enter() noexcept {
        int seen = coins.load();
        while (seen > 0 && !coins.compare_exchange_weak(seen, seen - 1)) {
        }
        return seen > 0;
    }
    std::atomic<int> coins = 0;
};

rota::task<void> pass(rota::executor* on, door* d, std::string* log, char what) {
    try {
        co_await on->blocked_map().wait(*d);
        log->push_back(what);
    } catch (const rota::operation_cancelled&) {
        log->push_back('c');
    }
}

rota::task<void> pass_one(rota::executor* on, turnstile* t, std::atomic<int>* passed) {
    do {
        co_await on->blocked_map().wait(*t);
    } while (!t->enter());
    ++*passed;
}

rota::task<void> pop_from(rota::channel<int>* c) {
    auto popped = c->pop();
    (void)co_await popped;
}

rota::task<void> nap() {
    using namespace std::chrono_literals;
    co_await rota::sleep_for(1h);
}

} // namespace

TEST_CASE("any number of routines wait for a blocker, and go in order when it is unblocked") {
    rota::inline_scheduler scheduler;
    door d;
    std::string log;
    for (const char what : std::string("abc")) {
        (void)scheduler.spawn(pass(&scheduler, &d, &log, what));
    }
    scheduler.run();
    REQUIRE(scheduler.blocked_map().size() == 1);
    REQUIRE(scheduler.blocked_map().waiting(d) == 3);
    REQUIRE(scheduler.blocked().size() == 3);
    REQUIRE(scheduler.blocked()[0].what == "blocker");
    scheduler.unblocked(d); // it is not
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    d.open = true;
    scheduler.unblocked(d);
    REQUIRE(scheduler.blocked_map().size() == 0); // the entry has gone
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "abc");
    scheduler.run_task(pass(&scheduler, &d, &log, 'd'));
    REQUIRE(log == "abcd");
}

TEST_CASE("a woken waiter looks again, and waits again if another was quicker") {
    rota::inline_scheduler scheduler;
    turnstile t;
    std::atomic<int> passed = 0;
    for (int i = 0; i < 3; ++i) {
        (void)scheduler.spawn(pass_one(&scheduler, &t, &passed));
    }
    scheduler.run();
    for (int i = 1; i <= 3; ++i) {
        t.coins = 1;
        scheduler.unblocked(t);
        scheduler.run();
        REQUIRE(passed == i);
        REQUIRE(scheduler.blocked_map().waiting(t) == static_cast<std::size_t>(3 - i));
    }
}

TEST_CASE("a cancelled waiter leaves the map, the last one takes the entry with it") {
    rota::inline_scheduler scheduler;
    door d;
    std::string log;
    const auto a = scheduler.spawn(pass(&scheduler, &d, &log, 'a'));
    const auto b = scheduler.spawn(pass(&scheduler, &d, &log, 'b'));
    scheduler.run();
    a->request_stop();
    REQUIRE(scheduler.blocked_map().waiting(d) == 1);
    b->request_stop();
    REQUIRE(scheduler.blocked_map().size() == 0);
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "cc");
}

TEST_CASE("blockers of one shard do not disturb each other") {
    std::vector<door> doors(64);
    std::string log;
    rota::inline_scheduler scheduler; // goes first, and stops those that still wait
    for (door& d : doors) {
        (void)scheduler.spawn(pass(&scheduler, &d, &log, 'x'));
    }
    scheduler.run();
    REQUIRE(scheduler.blocked_map().size() == 64);
    for (std::size_t i = 0; i < doors.size(); i += 2) {
        doors[i].open = true;
        scheduler.unblocked(doors[i]);
    }
    scheduler.run();
    REQUIRE(log.size() == 32);
    REQUIRE(scheduler.blocked_map().size() == 32);
}

TEST_CASE("check-and-park is one step against unblocked: no wake-up is lost") {
    rota::runtime rt({.workers = 2});
    rt.start();
    for (int round = 0; round < 2000; ++round) {
        door d;
        std::string log;
        const auto r = rt.spawn(pass(&rt, &d, &log, 'x'));
        d.open = true;
        rt.unblocked(d);
        r->wait_stopped(); // hangs if the wake-up fell between the look and the park
        REQUIRE(log == "x");
    }
    REQUIRE(rt.blocked_map().size() == 0);
}

TEST_CASE("waiters, coins and stops race on several workers") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    turnstile t;
    std::atomic<int> passed = 0;
    std::vector<rota::routine_ptr> all;
    for (int i = 0; i < 200; ++i) {
        all.push_back(rt.spawn(pass_one(&rt, &t, &passed)));
    }
    rt.start();
    std::jthread payer([&] {
        for (int i = 0; i < 100; ++i) {
            ++t.coins;
            rt.unblocked(t);
        }
    });
    payer.join();
    // Coins and waiters are left over; the coins are taken before anyone stops.
    while (passed < 100) {
        std::this_thread::yield();
    }
    for (const rota::routine_ptr& r : all) {
        r->request_stop();
    }
    rt.join();
    REQUIRE(passed == 100);
    REQUIRE(rt.blocked_map().size() == 0);
}

TEST_CASE("the map groups all that wait by what they wait for") {
    rota::channel<int> busy(1);
    rota::channel<int> other(1);
    door d;
    std::string log;
    rota::inline_scheduler scheduler; // goes first, and stops those that still wait
    for (int i = 0; i < 5; ++i)
        (void)scheduler.spawn(pop_from(&busy), {.name = "popper " + std::to_string(i)});
    (void)scheduler.spawn(pop_from(&other));
    for (int i = 0; i < 3; ++i)
        (void)scheduler.spawn(nap()); // each has a timer of its own: one group
    for (int i = 0; i < 2; ++i)
        (void)scheduler.spawn(pass(&scheduler, &d, &log, 'x'));
    scheduler.run();

    const std::vector<rota::blocked_group> groups = scheduler.blocked_map().groups();
    REQUIRE(groups.size() == 4);
    const auto& poppers = groups[0].waiters;
    REQUIRE(poppers.size() == 5);
    CHECK(poppers[0].what == "channel::pop");
    CHECK(poppers[0].on != nullptr);
    std::size_t of_blocker = 0;
    for (const rota::blocked_group& g : groups) {
        for (const rota::blocked_routine& r : g.waiters) {
            CHECK(r.on == g.waiters[0].on);
            CHECK(r.what == g.waiters[0].what);
            of_blocker += r.on == static_cast<const rota::blocker*>(&d) ? 1 : 0;
        }
    }
    CHECK(groups[1].waiters.size() == 3);
    CHECK(groups[1].waiters[0].what == "sleep");
    CHECK(groups[1].waiters[0].on == nullptr);
    CHECK(of_blocker == 2);
    CHECK(groups[3].waiters.size() == 1);

    for (int i = 0; i < 5; ++i)
        CHECK(busy.try_push(i));
    scheduler.run();
    CHECK(scheduler.blocked_map().groups().size() == 3);
}

TEST_CASE("of those that wait for one thing the longest comes first") {
    using namespace std::chrono_literals;
    rota::channel<int> c(1);
    rota::inline_scheduler scheduler;
    for (const char* name : {"first", "second", "third"}) {
        (void)scheduler.spawn(pop_from(&c), {.name = name});
        scheduler.run();
        scheduler.advance(10ms);
    }
    const auto groups = scheduler.blocked_map().groups();
    REQUIRE(groups.size() == 1);
    REQUIRE(groups[0].waiters.size() == 3);
    CHECK(groups[0].waiters[0].name == "first");
    CHECK(groups[0].waiters[2].name == "third");
    CHECK(groups[0].waiters[0].since < groups[0].waiters[2].since);
}
