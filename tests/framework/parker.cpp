#include <rota/detail/parker.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using clock_type = rota::parking::clock;

TEST_CASE("a notification before the wait is kept, and many are one") {
    rota::parker p;
    p.notify();
    p.notify();
    p.notify();
    REQUIRE(p.wait_until(clock_type::time_point::max()));
    REQUIRE_FALSE(p.wait_until(clock_type::now())); // one permit, and it has been taken
    p.notify();
    p.wait();
}

TEST_CASE("a wait ends at its deadline without a permit, also one that is long past") {
    rota::parker p;
    REQUIRE_FALSE(p.wait_until(clock_type::time_point::min()));
    REQUIRE_FALSE(p.wait_until(clock_type::time_point{}));
    const auto deadline = clock_type::now() + 2ms;
    REQUIRE_FALSE(p.wait_until(deadline));
    REQUIRE(clock_type::now() >= deadline);
    p.notify();
    REQUIRE(p.wait_until(clock_type::time_point::min())); // a permit counts even then
}

TEST_CASE("what is written before the notification is seen after the wait, in either order") {
    rota::parker p;
    rota::parker back;
    int value = 0;
    constexpr int rounds = 20'000;
    bool in_order = true;
    std::jthread sleeper([&] {
        for (int i = 1; i <= rounds; ++i) {
            p.wait();
            in_order = in_order && value == i;
            back.notify();
        }
    });
    for (int i = 1; i <= rounds; ++i) {
        value = i;
        p.notify();
        back.wait();
    }
    sleeper.join();
    REQUIRE(in_order);
}

TEST_CASE("several notifiers: no notification is lost, whichever comes first") {
    for (int round = 0; round < 20; ++round) {
        rota::parker p;
        std::atomic<int> work = 0;
        constexpr int notifiers = 3;
        constexpr int each = 2000;
        std::vector<std::jthread> threads;
        for (int n = 0; n < notifiers; ++n) {
            threads.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    ++work;
                    p.notify();
                }
            });
        }
        int done = 0;
        while (done < notifiers * each) {
            p.wait(); // hangs if the permit for the last piece of work is lost
            done += work.exchange(0);
        }
        REQUIRE(done == notifiers * each);
    }
}

TEST_CASE("notifications race with deadlines: the permit is taken or stays") {
    rota::parker p;
    std::atomic<int> sent = 0;
    std::atomic<bool> stop = false;
    std::jthread notifier([&] {
        while (!stop) {
            ++sent;
            p.notify();
            std::this_thread::yield();
        }
    });
    int taken = 0;
    for (int i = 0; i < 5000; ++i) {
        taken += p.wait_until(clock_type::now() + 1us) ? 1 : 0;
    }
    stop = true;
    notifier.join();
    taken += p.wait_until(clock_type::time_point{}) ? 1 : 0;
    REQUIRE_FALSE(p.wait_until(clock_type::time_point{}));
    REQUIRE(taken >= 1);
    REQUIRE(taken <= sent);
}
