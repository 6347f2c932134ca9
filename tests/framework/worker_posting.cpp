// How posting to a worker wakes it, and how the wake can be put off.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/detail/parker.hpp>
#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/worker.hpp>

namespace {

struct nothing : rota::runnable {
    nothing() : runnable([](rota::runnable&) noexcept {}) {}
};

/// A sleep whose notify() takes its time: it returns once the runtime has stopped, and then gives
/// it the occasion to go.
class slow_to_wake final : public rota::parking {
public:
    struct shared {
        std::atomic<bool> slow{false};
        std::atomic<bool> waking{false};
        std::atomic<bool> stopped{false};
        std::atomic<bool> gone{false};
        std::atomic<bool> gone_too_early{false};
    };
    explicit slow_to_wake(shared& s) : shared_(s) {}
    ~slow_to_wake() override { shared_.gone = true; }
    bool wait_until(clock::time_point deadline) override { return inner_.wait_until(deadline); }
    void notify() noexcept override {
        shared& s = shared_; // what follows is not to look at what may have gone
        if (!s.slow.exchange(false)) {
            inner_.notify();
            return;
        }
        s.waking = true;
        inner_.notify();
        while (!s.stopped)
            std::this_thread::yield();
        for (int i = 0; i < 10'000 && !s.gone; ++i)
            std::this_thread::yield();
        s.gone_too_early = s.gone.load();
    }

private:
    shared& shared_;
    rota::parker inner_;
};

rota::task<void> wait_for(rota::event* e) { co_await e->wait(); }

/// Sleeps not at all: each wait is the moment for `while_asleep`.
class counting final : public rota::parking {
public:
    explicit counting(int& notified) : notified_(notified) {}
    bool wait_until(clock::time_point) override {
        if (while_asleep)
            std::exchange(while_asleep, nullptr)();
        return std::exchange(permit_, false);
    }
    void notify() noexcept override {
        permit_ = true;
        ++notified_;
    }
    std::function<void()> while_asleep;

private:
    int& notified_;
    bool permit_ = false;
};

} // namespace

TEST_CASE("wakes that are put off are the caller's to make good") {
    rota::virtual_time time;
    int notified = 0;
    auto sleeper = std::make_unique<counting>(notified);
    counting& parking = *sleeper;
    rota::worker w(0, time, std::move(sleeper));
    std::vector<rota::worker*> posted;
    nothing first;
    nothing second;
    nothing third;
    nothing fourth;
    nothing fifth;
    {
        posted.reserve(2);
        const rota::worker::put_off_wakes putting_off(posted);
        w.post(first); // it is awake, and looks before it sleeps
        CHECK(posted.empty());
    }
    parking.while_asleep = [&] {
        {
            const rota::worker::put_off_wakes putting_off(posted);
            w.post(second);
            w.post(third);
            CHECK(posted == std::vector{&w}); // once
            CHECK(notified == 0);
            CHECK(w.state() == rota::baton::parked);
        }
        REQUIRE(w.try_lend());
        w.run_lent(std::chrono::seconds(1));
        CHECK(w.load().runnable == 0);
        {
            std::vector<rota::worker*> no_room;
            const rota::worker::put_off_wakes putting_off(no_room);
            w.post(fourth);
            CHECK(no_room.empty());
            CHECK(notified == 1); // so it has been woken at once
        }
        w.post(fifth);
        CHECK(notified == 1); // it is awake already
        w.stop();
    };
    w.run();
    CHECK(w.ended());
    CHECK(w.load().runnable == 0);
}

TEST_CASE("a worker does not go while another thread is about to wake it") {
    slow_to_wake::shared seen;
    rota::event last;
    std::thread waking;
    {
        rota::runtime rt({.workers = 1, .make_parking = [&](std::size_t) {
                              return std::make_unique<slow_to_wake>(seen);
                          }});
        rt.start();
        const rota::routine_ptr r = rt.spawn(wait_for(&last));
        while (r->state() != rota::routine_state::blocked ||
               rt.worker_at(0)->state() != rota::baton::parked)
            std::this_thread::yield();
        seen.slow = true;
        waking = std::thread([&] { last.set(); });
        while (!seen.waking)
            std::this_thread::yield();
        rt.stop();
        seen.stopped = true;
    }
    waking.join();
    REQUIRE_FALSE(seen.gone_too_early);
}
