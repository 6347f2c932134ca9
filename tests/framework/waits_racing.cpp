// Races of waits, every kind with every kind, in every order of what may happen: one is served and
// its result delivered, and what the other was for is still there.

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/semaphore.hpp>
#include <rota/sleep.hpp>
#include <rota/when_any.hpp>
#include <rota/with_timeout.hpp>

#include "wait_kinds.hpp"
#include "wait_orders.hpp"

using namespace std::chrono_literals;
using namespace test::waits;

namespace {

template <class A, class B>
rota::task<void> first_of_pair(A* a, B* b, ending<typename A::result, typename B::result>* out) {
    auto won = co_await rota::when_any(a->wait(), b->wait());
    if (won.index() == 0)
        std::get<0>(out->delivered).emplace(std::move(std::get<0>(won)));
    else
        std::get<1>(out->delivered).emplace(std::move(std::get<1>(won)));
}

template <class A, class B>
void check_any(const std::vector<step>& order) {
    INFO("in this order:" << described(order));
    two_waits<A, B> pair(order, first_of_pair<A, B>);
    REQUIRE(int{pair.first()} + int{pair.second()} + int{pair.out.cancelled} +
                int{pair.out.failed} ==
            1);
    REQUIRE((!pair.out.failed || (fails<A> && pair.a.served) || (fails<B> && pair.b.served)));
    if (!has(order, act::stop) && (pair.a.served || pair.b.served)) {
        REQUIRE_FALSE(pair.out.cancelled);
        REQUIRE((pair.b.served || !pair.second()));
        REQUIRE((pair.a.served || !pair.first()));
    }
    REQUIRE(pair.both_whole());
}

/// A with itself and with each kind behind it: what happens is tried in all orders, so it does not
/// matter which of two comes first.
template <std::size_t A, std::size_t... I>
void check_races_of(std::index_sequence<I...> /*rest*/) {
    for (const std::vector<step>& order : all_orders())
        (check_any<std::tuple_element_t<A, kinds>, std::tuple_element_t<A + I, kinds>>(order), ...);
}

template <std::size_t From, std::size_t... I>
void check_races(std::index_sequence<I...> /*some*/) {
    (check_races_of<From + I>(std::make_index_sequence<std::tuple_size_v<kinds> - From - I>()),
     ...);
}

} // namespace

TEST_CASE("races of two waits, the first with all: one wins, nothing is lost") {
    check_races<0>(std::make_index_sequence<3>());
}

TEST_CASE("races of two waits, the others: one wins, nothing is lost") {
    check_races<3>(std::make_index_sequence<std::tuple_size_v<kinds> - 3>());
}

TEST_CASE("two branches of one race never serve each other") {
    rota::inline_scheduler scheduler;
    rota::channel<int> c(0);
    const auto both = [&]() -> rota::task<std::size_t> {
        const auto won = co_await rota::when_any(c.pop(), c.push(1), c.pop());
        co_return won.index();
    };
    const rota::routine_ptr r = scheduler.spawn(both);
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    REQUIRE(c.try_pop() == 1); // another consumer gets it
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    const rota::routine_ptr again = scheduler.spawn(both);
    scheduler.run();
    REQUIRE(c.try_push(2));
    REQUIRE_FALSE(c.try_push(3)); // the race is decided
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
}

TEST_CASE("a branch that has lost is passed over, and those behind it are served") {
    rota::inline_scheduler scheduler;
    rota::semaphore s(0);
    rota::event e;
    rota::channel<int> a(1);
    bool served = false;
    int got = 0;
    scheduler.spawn([&]() -> rota::task<void> {
        const auto won = co_await rota::when_any(a.pop(), s.acquire(1));
        got = std::get<0>(won).value_or(0);
    });
    scheduler.run();
    scheduler.spawn([&]() -> rota::task<void> {
        const auto permit = co_await s.acquire();
        served = true;
    });
    scheduler.run();
    REQUIRE(a.try_push(5)); // decides it; nothing has run since
    s.release();
    scheduler.run();
    REQUIRE(served);
    REQUIRE(got == 5);
    REQUIRE(s.available() == 1);
}

namespace {

constexpr int values = 4000;

/// Pushes each of its values to one of two channels, whichever takes it.
rota::task<void> produce(rota::channel<int>* a, rota::channel<int>* b, int first) {
    for (int i = 0; i < values; ++i)
        (void)co_await rota::when_any(a->push(first + i), b->push(first + i));
}

rota::task<void> consume(rota::channel<int>* a, rota::channel<int>* b, std::vector<int>* seen) {
    for (int i = 0; i < values; ++i) {
        auto won = co_await rota::when_any(a->pop(), b->pop());
        const std::optional<int> got = won.index() == 0 ? std::get<0>(won) : std::get<1>(won);
        seen->push_back(got.value_or(-1));
    }
}

} // namespace

TEST_CASE("races at both ends of two channels, on several threads: each value arrives once") {
    for (const std::size_t capacity : {0, 1, 3}) {
        rota::runtime rt({.workers = 4});
        rota::channel<int> a(capacity);
        rota::channel<int> b(capacity);
        std::array<std::vector<int>, 3> seen;
        std::vector<rota::routine_ptr> all;
        rt.start();
        for (int i = 0; i < 3; ++i) {
            all.push_back(
                rt.spawn(produce(i % 2 == 0 ? &a : &b, i % 2 == 0 ? &b : &a, i * values)));
            all.push_back(rt.spawn(consume(i % 2 == 0 ? &b : &a, i % 2 == 0 ? &a : &b,
                                           &seen[static_cast<std::size_t>(i)])));
        }
        for (const rota::routine_ptr& r : all)
            r->wait_stopped();
        std::vector<int> times(std::size_t{3} * values);
        for (const std::vector<int>& some : seen) {
            for (const int each : some)
                ++times.at(static_cast<std::size_t>(each));
        }
        REQUIRE(times == std::vector<int>(times.size(), 1));
    }
}

TEST_CASE("timeouts against values from other threads: each value arrives once") {
    rota::runtime rt({.workers = 3});
    rt.start();
    rota::channel<int> c(2);
    std::vector<int> seen;
    const auto consumes = [&]() -> rota::task<void> {
        for (;;) {
            std::optional<int> got;
            try {
                got = co_await rota::with_timeout(1ms, c.pop());
            } catch (const rota::timed_out&) {
                continue;
            }
            if (!got)
                co_return;
            seen.push_back(*got);
        }
    };
    const auto produces = [&]() -> rota::task<void> {
        for (int i = 0; i < 300; ++i) {
            co_await rota::sleep_for(std::chrono::milliseconds(i % 3));
            co_await c.push(i);
        }
        c.close();
    };
    const rota::routine_ptr consumer = rt.spawn(consumes);
    const rota::routine_ptr producer = rt.spawn(produces);
    consumer->wait_stopped();
    REQUIRE(seen.size() == 300);
    for (std::size_t i = 0; i < seen.size(); ++i)
        REQUIRE(seen[i] == static_cast<int>(i));
}
