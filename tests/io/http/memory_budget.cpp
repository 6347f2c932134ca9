#include <rota/http/detail/memory_budget.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {

TEST_CASE("shares take no more than there is, and give it back") {
    memory_budget all(100);
    memory_budget::share first(&all);
    CHECK(first.reach(60));
    CHECK(first.reach(50)); // it has that
    std::optional<memory_budget::share> second(std::in_place, &all);
    CHECK(second->reach(40));
    CHECK(!second->reach(41));
    CHECK(!first.reach(61));
    CHECK(second->reach(40)); // kept
    second.reset();
    CHECK(first.reach(100));
    memory_budget::share third(&all);
    CHECK(third.reach(0));
    CHECK(!third.reach(1));
}

TEST_CASE("a budget without end has room") {
    memory_budget all(std::numeric_limits<std::size_t>::max());
    memory_budget::share first(&all);
    memory_budget::share second(&all);
    CHECK(first.reach(1'000'000));
    CHECK(second.reach(1'000'000));
    CHECK_FALSE(second.reach(std::numeric_limits<std::size_t>::max()));
}

TEST_CASE("what grows takes large steps, and the first of them is free") {
    constexpr std::size_t step = memory_budget::step;
    memory_budget all(2 * step);
    memory_budget::share first(&all);
    CHECK(first.reach_in_steps(step));
    CHECK(first.reach_in_steps(2 * step));
    memory_budget::share second(&all);
    CHECK(second.reach_in_steps(2 * step));
    CHECK_FALSE(second.reach_in_steps(2 * step + 1));
    CHECK(second.reach_in_steps(step));
    first.give_back();
    CHECK(second.reach_in_steps(2 * step + 1));
}

TEST_CASE("a share of no budget has no end") {
    memory_budget::share none(nullptr);
    CHECK(none.reach(1'000'000'000));
    CHECK(none.reach_in_steps(1'000'000'000));
    none.give_back();
}

} // namespace rota::http
