// A driver that is stuck in a lent run, and another thread that takes over from it.
#include "read_side.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <semaphore>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include <rota/parker.hpp>
#include <rota/worker.hpp>

#include "fake_backends.hpp"
#include "read_side_set_up.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;

namespace {

constexpr auto never = std::chrono::steady_clock::time_point::max();

} // namespace

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
