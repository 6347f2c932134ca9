// A driver that is stuck in a lent run, and another thread that takes over from it.
#include "read_side.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <semaphore>
#include <thread>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/detail/parker.hpp>
#include <rota/worker.hpp>

#include "fake_backends.hpp"
#include "read_side_set_up.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

/// A read side whose backends belong to their threads, and drivers that are stuck one after the
/// other, each in the handler of a worker of its own.
struct rings {
    struct stuck_driver {
        explicit stuck_driver(rings& r, std::size_t index)
            : home(index, rota::time_source::steady(), std::make_unique<rota::parker>()),
              holding(home), worker_thread([this] { home.run(); }) {
            while (home.state() != rota::baton::parked)
                std::this_thread::yield();
            holding.then = [this] {
                if (std::exchange(held, true))
                    return;
                begun.release();
                may_end.acquire();
            };
            r.side.request(holding, operation::want_arm);
        }
        ~stuck_driver() {
            home.stop();
            worker_thread.join();
        }
        rota::worker home;
        test_op holding;
        std::binary_semaphore begun{0};
        std::binary_semaphore may_end{0};
        bool held = false;
        std::thread worker_thread;
        std::thread driver;
    };

    std::unique_ptr<read_backend> make() {
        if (std::exchange(fails, false))
            throw std::bad_alloc();
        ++made;
        return std::make_unique<fake_ring>(script, left);
    }
    std::size_t arms_of(const operation& op) {
        const std::lock_guard guard(script.lock);
        return static_cast<std::size_t>(
            std::ranges::count(script.calls, std::pair('a', const_cast<operation*>(&op))));
    }

    read_script script;
    std::atomic<int> left{0};
    int made = 0;
    bool fails = false;
    read_side side{[this] { return make(); }, 1s};
};

} // namespace

TEST_CASE("what takes over from a thread that has a ring gets one, with all that was armed") {
    rings r;
    rings::stuck_driver stuck(r, 1);
    threaded_worker v;
    rota::worker& other_home = stuck.home; // of the same worker: handled when it lets go
    test_op armed(v.home);
    test_op cancelled(other_home);
    std::counting_semaphore<> handled{0}; // on that worker's thread
    cancelled.then = [&handled] { handled.release(); };
    test_op over(v.home);
    buffer_group group(0, 2, 64);
    test_op receiving(v.home, op_kind::receive);
    receiving.group = &group;
    stuck.driver = std::thread([&] {
        for (test_op* op : {&armed, &cancelled, &over, &receiving})
            r.side.request(*op, operation::want_arm);
        r.side.turn({}, true);
        r.script.complete(over, 1);
        r.side.request(cancelled, operation::want_cancel);
        r.side.turn({}, true);
        r.script.complete(stuck.holding, 1, completion_flags::more);
        r.side.turn(never, true);
        CHECK_FALSE(r.side.is_driver());
    });
    stuck.begun.acquire();
    v.await(rota::baton::parked);

    r.fails = true;
    CHECK_THROWS_AS(r.side.take_over(), std::bad_alloc);
    CHECK_FALSE(r.side.is_driver()); // nothing has changed
    CHECK_FALSE(r.side.is_left());
    REQUIRE(r.side.take_over());
    CHECK(r.side.is_driver());
    CHECK(r.side.is_left());
    CHECK(r.made == 2);
    r.script.arm_errors = {ENOMEM}; // even now
    r.side.turn({}, true);
    CHECK(r.arms_of(over) == 1);
    CHECK(r.arms_of(cancelled) == 1);
    CHECK(r.arms_of(armed) + r.arms_of(receiving) + r.arms_of(stuck.holding) == 5);
    CHECK(r.script.attached.size() == 2);
    stuck.may_end.release();
    stuck.driver.join();
    CHECK_FALSE(r.side.is_left());
    CHECK(r.left == 1);
    for (int i = 0; i < 2; ++i) {
        while (!handled.try_acquire())
            r.side.turn({}, true);
    }
    CHECK(cancelled.got ==
          results{{0, completion_flags::more | completion_flags::cancel_seen}, {-ECANCELED, 0}});
}

TEST_CASE("one thread after the other takes over while those before it are still stuck") {
    rings r;
    constexpr std::size_t times = 4;
    std::deque<rings::stuck_driver> all;
    threaded_worker v;
    test_op armed(v.home);
    r.side.request(armed, operation::want_arm);
    for (std::size_t i = 0; i < times; ++i) {
        rings::stuck_driver& next = all.emplace_back(r, i + 1);
        next.driver = std::thread([&r, &next, i] {
            if (i != 0 && !r.side.take_over())
                return;
            r.side.turn({}, true);
            r.script.complete(next.holding, 1, completion_flags::more);
            r.side.turn(never, true);
        });
        next.begun.acquire();
        CHECK(r.made == static_cast<int>(i) + 1);
    }
    REQUIRE(r.side.take_over());
    r.side.turn({}, true);
    CHECK(r.arms_of(armed) == times + 1);
    for (const std::size_t i : {2U, 0U, 3U, 1U}) { // in any order
        all[i].may_end.release();
        all[i].driver.join();
    }
    CHECK(r.left == static_cast<int>(times));
    CHECK_FALSE(r.side.is_left());
    r.script.complete(armed, 2);
    r.side.turn(never, true);
    v.await(rota::baton::parked);
    CHECK(armed.got == results{{2, 0}});
}

TEST_CASE("another thread takes over from a driver that is held up, and the worker is kept off") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 1s);
    threaded_worker w;
    threaded_worker v;
    test_op holding(w.home);
    test_op other(v.home);
    std::binary_semaphore begun{0};
    std::binary_semaphore may_end{0};
    std::atomic<bool> first_is_driver{true};
    std::thread::id ran_on;
    holding.then = [&] {
        ran_on = std::this_thread::get_id();
        begun.release();
        may_end.acquire();
    };
    CHECK_FALSE(side.overstayed());
    std::thread first([&] {
        side.request(holding, operation::want_arm);
        side.request(other, operation::want_arm);
        side.turn({}, true);
        script.complete(holding, 1, completion_flags::more);
        side.turn(never, true);
        first_is_driver = side.is_driver();
    });
    begun.acquire();
    CHECK(ran_on == first.get_id());
    int looks = 1;
    while (!side.overstayed())
        ++looks;
    CHECK(looks > 3);
    REQUIRE(side.take_over());
    CHECK(side.is_driver());
    CHECK_FALSE(side.overstayed());
    script.complete(other, 2);
    side.turn(never, true); // by the same backend: nothing is armed anew
    v.await(rota::baton::parked);
    CHECK(other.got == results{{2, 0}});
    CHECK(script.calls.size() == 2);
    may_end.release();
    first.join();
    CHECK_FALSE(first_is_driver);
    CHECK(side.is_driver());

    // From now on it runs on its own thread.
    w.await(rota::baton::parked);
    holding.then = [&] {
        ran_on = std::this_thread::get_id();
        begun.release();
    };
    script.complete(holding, 3);
    side.turn(never, true);
    begun.acquire();
    CHECK(ran_on == w.thread.get_id());
}

TEST_CASE("nobody takes over from a driver that is not in a lent run") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 1ms);
    side.turn({}, true);
    for (int i = 0; i < 20; ++i)
        CHECK_FALSE(side.overstayed());
    CHECK_FALSE(side.take_over());
}

TEST_CASE("workers that were to run behind the one that overstays run on their own threads") {
    read_script script;
    read_side side([&script] { return std::make_unique<fake_read_backend>(script); }, 1s);
    threaded_worker w;
    rota::worker second{1, rota::time_source::steady(), std::make_unique<rota::parker>()};
    std::thread second_thread([&second] { second.run(); });
    test_op holding(w.home);
    test_op behind(second);
    std::binary_semaphore begun{0};
    std::binary_semaphore may_end{0};
    std::binary_semaphore served{0};
    std::thread::id ran_on;
    holding.then = [&] {
        begun.release();
        may_end.acquire();
    };
    behind.then = [&] {
        ran_on = std::this_thread::get_id();
        served.release();
    };
    std::thread first([&] {
        side.request(holding, operation::want_arm);
        side.request(behind, operation::want_arm);
        side.turn({}, true);
        while (second.state() != rota::baton::parked)
            std::this_thread::yield();
        script.complete(holding, 1);
        script.complete(behind, 2);
        side.turn(never, true);
    });
    begun.acquire();
    REQUIRE(side.take_over());
    served.acquire();
    CHECK(ran_on == second_thread.get_id());
    may_end.release();
    first.join();
    second.stop();
    second_thread.join();
}
