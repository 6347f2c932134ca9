#include <rota/detail/timer_wheel.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;

namespace {

using time_point = rota::timer_wheel::time_point;
const time_point start = time_point(1h);

struct noter : rota::timer {
    noter(std::vector<int>* out, int n) : timer(&noter::fire), log(out), number(n) {}
    static void fire(rota::timer& self) noexcept {
        auto& me = static_cast<noter&>(self);
        me.log->push_back(me.number);
    }
    std::vector<int>* log;
    int number;
};

} // namespace

TEST_CASE("a timer fires when its time has come, not before, and once") {
    std::vector<int> log;
    rota::timer_wheel wheel(start);
    noter t(&log, 1);
    REQUIRE(wheel.next() == time_point::max());
    wheel.arm(t, start + 1500us);
    REQUIRE(t.armed());
    REQUIRE(wheel.armed() == 1);
    REQUIRE(wheel.next() == start + 2ms); // rounded up to a tick
    REQUIRE(wheel.advance(start + 1999us) == 0);
    REQUIRE(wheel.advance(start + 2ms) == 1);
    REQUIRE_FALSE(t.armed());
    REQUIRE(wheel.advance(start + 1h) == 0);
    REQUIRE(log == std::vector{1});
}

TEST_CASE("timers of one tick fire in the order of arming, also after cascading") {
    std::vector<int> log;
    rota::timer_wheel wheel(start);
    std::vector<std::unique_ptr<noter>> timers;
    const auto arm = [&](time_point when) {
        timers.push_back(std::make_unique<noter>(&log, static_cast<int>(timers.size())));
        wheel.arm(*timers.back(), when);
    };
    arm(start + 5000ms);
    arm(start + 5000ms);
    wheel.advance(start + 4000ms);
    arm(start + 5000ms);
    wheel.advance(start + 4990ms);
    arm(start + 5000ms);
    arm(start + 4995ms);
    arm(start - 1h); // in the past: at the next advance
    REQUIRE(wheel.advance(start + 5s) == 6);
    REQUIRE(log == std::vector{5, 4, 0, 1, 2, 3});
}

TEST_CASE("disarming: first, last, middle and only timer of a slot") {
    for (int which = 0; which < 3; ++which) {
        std::vector<int> log;
        rota::timer_wheel wheel(start);
        noter a(&log, 0);
        noter b(&log, 1);
        noter c(&log, 2);
        noter* const all[] = {&a, &b, &c};
        for (noter* t : all) {
            wheel.arm(*t, start + 10ms);
        }
        wheel.disarm(*all[which]);
        wheel.disarm(*all[which]); // no effect
        wheel.advance(start + 10ms);
        std::vector<int> expected{0, 1, 2};
        expected.erase(expected.begin() + which);
        REQUIRE(log == expected);
        REQUIRE(wheel.armed() == 0);
        wheel.arm(a, start + 20ms);
        wheel.disarm(a);
        REQUIRE(wheel.next() == time_point::max());
    }
}

TEST_CASE("a timer that arms itself again for the past does not hold up the wheel") {
    struct repeater : rota::timer {
        explicit repeater(rota::timer_wheel* w) : timer(&repeater::fire), wheel(w) {}
        static void fire(rota::timer& self) noexcept {
            auto& me = static_cast<repeater&>(self);
            ++me.count;
            me.wheel->arm(me, start);
        }
        rota::timer_wheel* wheel;
        int count = 0;
    };
    rota::timer_wheel wheel(start);
    repeater r(&wheel);
    wheel.arm(r, start);
    REQUIRE(wheel.advance(start) == 1);
    REQUIRE(wheel.advance(start + 3ms) == 3);
    wheel.disarm(r);
}

TEST_CASE("a timer may disarm another that is due in the same tick") {
    struct killer : rota::timer {
        explicit killer(rota::timer_wheel* w) : timer(&killer::fire), wheel(w) {}
        static void fire(rota::timer& self) noexcept {
            auto& me = static_cast<killer&>(self);
            ++me.fired;
            me.wheel->disarm(*me.victim);
        }
        rota::timer_wheel* wheel;
        killer* victim = nullptr;
        int fired = 0;
    };
    rota::timer_wheel wheel(start);
    killer a(&wheel);
    killer b(&wheel);
    a.victim = &b;
    b.victim = &a;
    wheel.arm(a, start + 100ms);
    wheel.arm(b, start + 100ms);
    REQUIRE(wheel.advance(start + 1s) == 1);
    REQUIRE(a.fired == 1);
    REQUIRE(b.fired == 0);
    REQUIRE(wheel.armed() == 0);
}

TEST_CASE("times beyond the reach of the wheel, and no time at all") {
    std::vector<int> log;
    rota::timer_wheel wheel(start);
    noter far(&log, 1);
    noter never(&log, 2);
    const auto three_years = std::chrono::hours(24 * 365 * 3);
    wheel.arm(far, start + three_years);
    wheel.arm(never, time_point::max());
    REQUIRE(wheel.advance(start + three_years - 1ms) == 0);
    REQUIRE(wheel.advance(start + three_years) == 1);
    REQUIRE(wheel.advance(start + 20 * three_years) == 0);
    REQUIRE(never.armed());
    REQUIRE(wheel.armed() == 1);
    REQUIRE(wheel.next() == time_point::max());
    wheel.disarm(never);
    REQUIRE(wheel.armed() == 0);
    REQUIRE(wheel.next() == time_point::max());
}

TEST_CASE("deadlines do not overflow") {
    REQUIRE(rota::deadline_after(start, 5s) == start + 5s);
    REQUIRE(rota::deadline_after(start, -5s) == start - 5s);
    REQUIRE(rota::deadline_after(start, time_point::duration::max()) == time_point::max());
}

namespace {

/// A timer of the random test: fires no earlier than its tick, no later than the advance after it.
struct checked : rota::timer {
    checked() : timer(&checked::fire) {}
    static void fire(rota::timer& self) noexcept { ++static_cast<checked&>(self).fired; }
    std::int64_t due = 0; // ms after start
    int fired = 0;
};

} // namespace

TEST_CASE("the wheel against a model, with random operations") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 40; ++round) {
        rota::timer_wheel wheel(start);
        std::vector<std::unique_ptr<checked>> timers;
        for (int i = 0; i < 200; ++i) {
            timers.push_back(std::make_unique<checked>());
        }
        std::multimap<std::int64_t, checked*> model;
        std::int64_t now = 0;
        // Spans of milliseconds to years, so that every level is used.
        const auto span = [&] {
            return static_cast<std::int64_t>(random() >> (22 + random() % 42));
        };
        for (int step = 0; step < 2000; ++step) {
            checked& t = *timers[random() % timers.size()];
            if (t.armed()) {
                const auto found =
                    std::find_if(model.begin(), model.end(),
                                 [&t](const auto& entry) { return entry.second == &t; });
                if (random() % 2 == 0) {
                    model.erase(found);
                    wheel.disarm(t);
                }
            } else if (random() % 4 != 0) {
                t.due = now + span() - 10;
                t.fired = 0;
                wheel.arm(t, start + std::chrono::milliseconds(t.due));
                model.emplace(t.due, &t);
            }
            REQUIRE(wheel.armed() == model.size());
            const time_point next = wheel.next();
            if (model.empty()) {
                REQUIRE(next == time_point::max());
            } else {
                // Never later than the first timer; earlier only for a cascade.
                const auto first =
                    start + std::chrono::milliseconds(std::max(model.begin()->first, now));
                REQUIRE(next <= first);
            }
            if (random() % 3 == 0) {
                now += span() % 100'000'000;
                std::size_t due = 0;
                while (!model.empty() && model.begin()->first <= now) {
                    model.erase(model.begin());
                    ++due;
                }
                REQUIRE(wheel.advance(start + std::chrono::milliseconds(now)) == due);
                const bool well =
                    std::all_of(timers.begin(), timers.end(), [now](const auto& timer) {
                        return timer->fired == 0 ||
                               (timer->fired == 1 && !timer->armed() && timer->due <= now);
                    });
                REQUIRE(well);
            }
        }
        for (const auto& timer : timers) {
            wheel.disarm(*timer);
        }
        REQUIRE(wheel.next() == time_point::max());
    }
}

TEST_CASE("timers that outlive their wheel are disarmed by its end") {
    const auto nothing = [](rota::timer&) noexcept {};
    rota::timer soon(nothing);
    rota::timer late(nothing);
    rota::timer past(nothing);
    {
        const auto now = rota::timer_wheel::clock::now();
        rota::timer_wheel wheel(now);
        wheel.arm(soon, now + std::chrono::milliseconds(5));
        wheel.arm(late, now + std::chrono::hours(100));
        wheel.arm(past, now - std::chrono::milliseconds(5));
        CHECK(wheel.armed() == 3);
    }
    CHECK_FALSE(soon.armed());
    CHECK_FALSE(late.armed());
    CHECK_FALSE(past.armed());
}
