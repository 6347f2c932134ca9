#include <rota/semaphore.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/yield.hpp>

namespace {

rota::task<void> take(rota::semaphore* s, std::size_t count, std::string* log, char what) {
    auto permit = co_await s->acquire(count);
    log->push_back(what);
    permit.detach();
}

/// Counts out, also when the routine is cancelled.
class leaver {
public:
    leaver(std::atomic<int>* inside, int count) : inside_(inside), count_(count) {}
    leaver(const leaver&) = delete;
    leaver& operator=(const leaver&) = delete;
    ~leaver() { *inside_ -= count_; }

private:
    std::atomic<int>* inside_;
    int count_;
};

} // namespace

TEST_CASE("permits are taken, given back, detached and added") {
    rota::semaphore s(2);
    {
        auto one = s.try_acquire();
        auto two = s.try_acquire();
        REQUIRE(one);
        REQUIRE(two);
        REQUIRE_FALSE(s.try_acquire());
        one->release();
        one->release();
        REQUIRE(s.available() == 1);
        two->detach();
        REQUIRE(two->count() == 0);
    }
    REQUIRE(s.available() == 1);
    s.release();
    REQUIRE(s.available() == 2);
    rota::semaphore::permit moved = std::move(*s.try_acquire(2));
    REQUIRE(moved.count() == 2);
    REQUIRE(s.available() == 0);
    moved = rota::semaphore::permit();
    REQUIRE(s.available() == 2);
}

TEST_CASE("a permit that gets another's gives back its own at once") {
    rota::semaphore s(3);
    rota::semaphore other(1);
    auto held = std::move(*s.try_acquire(2));
    auto next = std::move(*other.try_acquire());
    held = std::move(next);
    REQUIRE(next.count() == 0);
    REQUIRE(held.count() == 1);
    REQUIRE(s.available() == 3);
    REQUIRE(other.available() == 0);
    auto& same = held;
    held = std::move(same);
    REQUIRE(other.available() == 0);
}

TEST_CASE("first come first served, whatever the number") {
    rota::inline_scheduler scheduler;
    rota::semaphore s(1);
    std::string log;
    (void)scheduler.spawn(take(&s, 3, &log, 'a'));
    (void)scheduler.spawn(take(&s, 1, &log, 'b'));
    (void)scheduler.spawn(take(&s, 2, &log, 'c'));
    scheduler.run();
    REQUIRE(log.empty()); // b waits behind a, though there is one
    REQUIRE_FALSE(s.try_acquire());
    s.release(1);
    scheduler.run();
    REQUIRE(log.empty());
    s.release(2);
    scheduler.run();
    REQUIRE(log == "ab");
    s.release(3);
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "abc");
    REQUIRE(s.available() == 1);
}

TEST_CASE("when the first in line gives up, those behind it are served") {
    rota::inline_scheduler scheduler;
    rota::semaphore s(2);
    std::string log;
    const auto a = scheduler.spawn(take(&s, 3, &log, 'a'));
    (void)scheduler.spawn(take(&s, 1, &log, 'b'));
    (void)scheduler.spawn(take(&s, 1, &log, 'c'));
    (void)scheduler.spawn(take(&s, 1, &log, 'd'));
    scheduler.run();
    a->request_stop();
    scheduler.run();
    REQUIRE(log == "bc");
    REQUIRE(s.available() == 0);
    s.release();
    scheduler.run();
    REQUIRE(log == "bcd");
}

TEST_CASE("no more than so many at a time, on several workers, with cancellations") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    rota::semaphore s(3);
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    constexpr auto body = [](rota::semaphore* sem, std::atomic<int>* in,
                             std::atomic<int>* max) -> rota::task<void> {
        for (int i = 0; i < 200; ++i) {
            const auto permit = co_await sem->acquire(1 + i % 2);
            const int now = *in += static_cast<int>(permit.count());
            int seen = *max;
            while (seen < now && !max->compare_exchange_weak(seen, now)) {
            }
            const leaver leave(in, static_cast<int>(permit.count()));
            co_await rota::yield();
        }
    };
    std::vector<rota::routine_ptr> all;
    for (int i = 0; i < 12; ++i) {
        all.push_back(rt.spawn(body(&s, &inside, &most)));
    }
    rt.start();
    for (std::size_t i = 0; i < all.size(); i += 3) {
        all[i]->request_stop();
    }
    rt.join();
    REQUIRE(most <= 3);
    REQUIRE(s.available() == 3);
}

TEST_CASE("no release makes permits fewer") {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    rota::semaphore s(most - 1);
    s.release(3);
    CHECK(s.available() == most);
    const auto permit = s.try_acquire();
    CHECK(permit.has_value());
}
