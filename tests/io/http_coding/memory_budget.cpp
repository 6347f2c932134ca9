#include "memory_budget.hpp"

#include <optional>
#include <utility>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {

TEST_CASE("shares take no more than there is, and give it back") {
    memory_budget all(100);
    memory_budget::share first(all);
    CHECK(first.reach(60));
    CHECK(first.reach(50)); // it has that
    std::optional<memory_budget::share> second(std::in_place, all);
    CHECK(second->reach(40));
    CHECK(!second->reach(41));
    CHECK(!first.reach(61));
    CHECK(second->reach(40)); // kept
    second.reset();
    CHECK(first.reach(100));
    memory_budget::share third(all);
    CHECK(third.reach(0));
    CHECK(!third.reach(1));
}

} // namespace rota::http
