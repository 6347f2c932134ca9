// How posting to a worker wakes it, and how the wake can be put off.

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/worker.hpp>

namespace {

struct nothing : rota::runnable {
    nothing() : runnable([](rota::runnable&) noexcept {}) {}
};

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
