#include <rota/wait_list.hpp>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("a wait list keeps the order, wherever a waiter leaves") {
    rota::wait_list list;
    rota::waiter a;
    rota::waiter b;
    rota::waiter c;
    REQUIRE(list.empty());
    REQUIRE(list.front() == nullptr);
    REQUIRE(list.pop_front() == nullptr);
    list.push_back(a);
    list.push_back(b);
    list.push_back(c);
    REQUIRE(a.queued);
    list.remove(b);
    REQUIRE_FALSE(b.queued);
    REQUIRE(list.front() == &a);
    list.push_back(b);
    REQUIRE(list.pop_front() == &a);
    REQUIRE(list.pop_front() == &c);
    list.remove(b);
    REQUIRE(list.empty());
}

TEST_CASE("released waiters are a chain in the order of arrival") {
    rota::wait_list list;
    rota::waiter a;
    rota::waiter b;
    REQUIRE(list.release() == nullptr);
    list.push_back(a);
    list.push_back(b);
    const rota::waiter* const chain = list.release();
    REQUIRE(list.empty());
    REQUIRE(chain == &a);
    REQUIRE(a.next == &b);
    REQUIRE(b.next == nullptr);
    REQUIRE_FALSE(a.queued);
    REQUIRE_FALSE(b.queued);
    rota::wait_list::wake_one(nullptr);
    rota::wait_list::wake_chain(nullptr);
}
