#include <rota/every.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/under.hpp>
#include <rota/with_timeout.hpp>

using namespace std::chrono_literals;

namespace {

/// When it was called, in milliseconds from the beginning.
class calls {
public:
    explicit calls(rota::inline_scheduler& s) : scheduler_(s) {}
    void note() {
        at_.push_back(
            std::chrono::duration_cast<std::chrono::milliseconds>(scheduler_.now() - start_)
                .count());
    }
    [[nodiscard]] const std::vector<std::int64_t>& at() const { return at_; }

private:
    rota::inline_scheduler& scheduler_;
    const rota::virtual_time::time_point start_ = scheduler_.now();
    std::vector<std::int64_t> at_;
};

using times = std::vector<std::int64_t>;

} // namespace

TEST_CASE("a function is called on the grid of its period, until it is stopped") {
    rota::inline_scheduler scheduler;
    calls seen(scheduler);
    const rota::routine_ptr r = scheduler.spawn(rota::every(10ms, [&] { seen.note(); }));
    scheduler.advance(35ms);
    REQUIRE(seen.at() == times{10, 20, 30});
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(r->error() == nullptr);
    REQUIRE(scheduler.home().timers().armed() == 0);
}

TEST_CASE("calls neither drift nor overlap: those that are due meanwhile go") {
    rota::inline_scheduler scheduler;
    calls seen(scheduler);
    std::size_t calls_made = 0;
    const auto works = [&, text = std::string(40, 'x')]() -> rota::task<std::size_t> {
        seen.note();
        constexpr std::chrono::milliseconds takes[] = {7ms, 25ms, 10ms, 1ms};
        co_await rota::sleep_for(takes[calls_made++ % 4]);
        co_return text.size();
    };
    const rota::routine_ptr r = scheduler.spawn(rota::every(10ms, works));
    scheduler.advance(72ms);
    // The second ends at 45, the third on the tick at 60, which is not late.
    REQUIRE(seen.at() == times{10, 20, 50, 60, 70});
}

TEST_CASE("an exception of a call is told, and the next one follows") {
    std::vector<std::string> told;
    rota::inline_scheduler scheduler([&](const rota::routine& r, std::exception_ptr error) {
        REQUIRE(r.error() == nullptr); // it goes on
        try {
            std::rethrow_exception(std::move(error));
        } catch (const std::exception& e) {
            told.emplace_back(e.what());
        }
    });
    int calls_made = 0;
    const rota::routine_ptr plain = scheduler.spawn(rota::every(10ms, [&] {
        if (++calls_made % 2 == 1)
            throw std::runtime_error("odd");
    }));
    const rota::routine_ptr cancels = scheduler.spawn(
        rota::every(10ms, []() -> rota::task<void> { throw rota::operation_cancelled(); }));
    const rota::routine_ptr late = scheduler.spawn(rota::every(
        10ms, []() -> rota::task<void> { co_await rota::with_timeout(1ms, rota::sleep_for(1h)); }));
    scheduler.advance(45ms);
    REQUIRE(calls_made == 4);
    REQUIRE(told.size() == 2 + 4);
    REQUIRE(scheduler.routine_count() == 3);
}

TEST_CASE("a stop ends the call that is under way, and no other follows") {
    rota::inline_scheduler scheduler;
    int begun = 0;
    int ended = 0;
    const auto stubborn = [&]() -> rota::task<void> {
        ++begun;
        try {
            co_await rota::sleep_for(1h);
        } catch (const rota::operation_cancelled&) {
            ++ended;
        }
    };
    std::stop_source drain;
    const rota::routine_ptr r =
        scheduler.spawn(rota::under(drain.get_token(), rota::every(1s, stubborn)));
    scheduler.advance(1500ms);
    REQUIRE(begun == 1);
    drain.request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(begun == 1);
    REQUIRE(ended == 1);
}

TEST_CASE("a period has to be one") {
    rota::inline_scheduler scheduler;
    REQUIRE_THROWS_AS(scheduler.run_task(rota::every(0s, [] {})), std::invalid_argument);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::every(-1s, [] {})), std::invalid_argument);
    const auto r = scheduler.spawn(rota::every(std::chrono::steady_clock::duration::max(), [] {}));
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
}

TEST_CASE("a tick that the clock cannot count does not come") {
    rota::inline_scheduler scheduler;
    int calls_made = 0;
    const auto r = scheduler.spawn(rota::every(std::chrono::hours::max(), [&] { ++calls_made; }));
    scheduler.run();
    scheduler.advance(std::chrono::years(150));
    scheduler.advance(std::chrono::years(50));
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    REQUIRE(calls_made == 1);
}

TEST_CASE("what it calls is kept, and it ends with its runtime") {
    rota::runtime rt({.workers = 2});
    rt.start();
    std::atomic<int> calls_made{0};
    auto counted = std::make_shared<int>(0);
    const std::weak_ptr<int> kept = counted;
    rt.spawn(rota::every(1ms, [&calls_made, mine = std::move(counted)] {
        ++*mine;
        ++calls_made;
        calls_made.notify_all();
    }));
    for (int seen = 0; seen < 3; seen = calls_made)
        calls_made.wait(seen);
    REQUIRE_FALSE(kept.expired());
    rt.stop();
    REQUIRE(kept.expired());
}
