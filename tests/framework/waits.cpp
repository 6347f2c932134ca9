// Every wait in every combinator, in every order of what may happen to it: it is either served and
// its result delivered, or it is not and what it was for is still there.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/under.hpp>
#include <rota/when_all.hpp>
#include <rota/when_any.hpp>
#include <rota/when_settled.hpp>
#include <rota/with_timeout.hpp>

#include "wait_kinds.hpp"
#include "wait_orders.hpp"

using namespace std::chrono_literals;
using namespace test::waits;

namespace {

template <class A, class B>
rota::task<void> settled_pair(A* a, B* b, ending<typename A::result, typename B::result>* out) {
    auto [first, second] = co_await rota::when_settled(a->wait(), b->wait());
    std::get<0>(out->delivered) = std::move(first.value);
    std::get<1>(out->delivered) = std::move(second.value);
}

template <class A, class B>
void check_settled(const std::vector<step>& order) {
    INFO("in this order:" << described(order));
    two_waits<A, B> pair(order, settled_pair<A, B>);
    REQUIRE_FALSE((pair.out.cancelled || pair.out.failed || pair.out.timed_out));
    if (!has(order, act::stop)) {
        REQUIRE(pair.first() == (pair.a.served && !fails<A>));
        REQUIRE(pair.second() == (pair.b.served && !fails<B>));
    }
    REQUIRE(pair.both_whole());
}

template <class A, class B>
rota::task<void> all_of_pair(A* a, B* b, ending<typename A::result, typename B::result>* out) {
    auto both = co_await rota::when_all(a->wait(), b->wait());
    std::get<0>(out->delivered).emplace(std::move(std::get<0>(both)));
    std::get<1>(out->delivered).emplace(std::move(std::get<1>(both)));
}

/// All, or an error; what is not delivered with an error is not promised.
template <class A, class B>
void check_all(const std::vector<step>& order) {
    INFO("in this order:" << described(order));
    two_waits<A, B> pair(order, all_of_pair<A, B>);
    const bool delivered = pair.first();
    REQUIRE(int{delivered} + int{pair.out.cancelled} + int{pair.out.failed} == 1);
    if (!has(order, act::stop))
        REQUIRE(delivered == (pair.a.served && pair.b.served && !fails<A> && !fails<B>));
    if (delivered)
        REQUIRE(pair.both_whole());
}

template <class A, class B>
void check_both() {
    for (const std::vector<step>& order : all_orders()) {
        check_settled<A, B>(order);
        check_all<A, B>(order);
    }
}

/// A wait, alone, with what can end it.
enum class how : std::uint8_t { timeout, token };

template <class K>
rota::task<void> one(K* k, how what, const std::stop_token* token,
                     ending<typename K::result>* out) {
    auto& got = std::get<0>(out->delivered);
    rota::task<rota::body_result_t<decltype(k->wait())>> body;
    if (what == how::timeout)
        body = rota::with_timeout(1s, k->wait());
    else
        body = rota::under(*token, k->wait());
    if constexpr (std::is_same_v<typename K::result, std::monostate>) {
        co_await std::move(body);
        got.emplace();
    } else {
        got.emplace(co_await std::move(body));
    }
}

template <class K>
void check_one(how what, const std::vector<step>& order) {
    INFO("in this order:" << described(order));
    rota::inline_scheduler scheduler;
    K k(scheduler);
    ending<typename K::result> out;
    std::stop_source source;
    const std::stop_token token = source.get_token();
    const auto end = [&] {
        if (what == how::timeout)
            scheduler.advance(1s);
        else
            source.request_stop();
    };
    go_through(
        scheduler, order, one(&k, what, &token, &out), out, [&] { k.serve(); }, end);
    const bool delivered = std::get<0>(out.delivered).has_value();
    REQUIRE(int{delivered} + int{out.cancelled} + int{out.timed_out} + int{out.failed} == 1);
    if (order.size() == 1 && has(order, act::serve_first))
        REQUIRE((delivered || fails<K>));
    if (order.size() == 1 && has(order, act::serve_second) && order[0].runs_before)
        REQUIRE(out.timed_out == (what == how::timeout));
    REQUIRE(k.whole(pointer<K>(std::get<0>(out.delivered))));
    REQUIRE(scheduler.home().timers().armed() == 0);
}

template <class K>
void check_alone() {
    for (const std::vector<step>& order : all_orders()) {
        check_one<K>(how::timeout, order);
        check_one<K>(how::token, order);
    }
}

/// A timer that expires in the tick in which the wait is served, before and after it.
template <class K>
rota::task<void> race_with_time(K* k, ending<typename K::result, std::monostate>* out) {
    auto won = co_await rota::when_any(k->wait(), rota::sleep_for(5ms));
    if (won.index() == 0)
        std::get<0>(out->delivered).emplace(std::move(std::get<0>(won)));
    else
        std::get<1>(out->delivered).emplace();
}

template <class K>
void check_with_time(std::chrono::milliseconds served_after) {
    rota::inline_scheduler scheduler;
    K k(scheduler);
    ending<typename K::result, std::monostate> out;
    const auto serves = [&]() -> rota::task<void> {
        co_await rota::sleep_for(served_after);
        k.serve();
    };
    const bool before = served_after.count() % 2 == 0;
    if (before)
        scheduler.spawn(serves);
    scheduler.spawn(watch(race_with_time(&k, &out), &out));
    scheduler.run();
    if (!before)
        scheduler.spawn(serves);
    scheduler.advance(1s);
    REQUIRE(out.over);
    REQUIRE(k.whole(pointer<K>(std::get<0>(out.delivered))));
}

template <class K>
void check_with_timers() {
    for (int ms = 3; ms < 8; ++ms)
        check_with_time<K>(std::chrono::milliseconds(ms));
}

template <class K>
rota::task<void> children(K* k, rota::event* begun) {
    rota::task_group group(co_await rota::current_context);
    group.spawn(k->wait());
    group.spawn([k]() -> rota::task<void> { (void)co_await rota::as_task(k->wait()); });
    begun->set();
    co_await group.join();
}

/// Children are served, or stopped, and awaited.
template <class K>
void check_children() {
    for (const bool serves : {false, true}) {
        rota::inline_scheduler scheduler;
        K k(scheduler);
        ending<> out;
        rota::event begun;
        const rota::routine_ptr r = scheduler.spawn(watch(children(&k, &begun), &out));
        scheduler.run();
        REQUIRE(begun.is_set());
        if (serves)
            k.serve();
        scheduler.run();
        r->request_stop();
        scheduler.run();
        REQUIRE(out.over);
        REQUIRE(out.failed == (serves && fails<K>));
    }
}

template <std::size_t... I>
void check_each(std::index_sequence<I...> /*all*/) {
    (check_alone<std::tuple_element_t<I, kinds>>(), ...);
    (check_with_timers<std::tuple_element_t<I, kinds>>(), ...);
    (check_children<std::tuple_element_t<I, kinds>>(), ...);
}

} // namespace

TEST_CASE("each wait with a timeout, a token, a timer, as a child: delivered or still there") {
    check_each(every_kind);
}

TEST_CASE("two waits together: all, or how each has ended, and nothing is lost") {
    check_both<pop, lock>();
    check_both<push, take>();
    check_both<acquire, failing>();
    check_both<a_task, notified>();
}
