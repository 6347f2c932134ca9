#include "echo_memory.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace rota_http;

TEST_CASE("who is told hears once that much has come back") {
    int told = 0;
    echo_memory memory(4 * echo_memory::much, [&told] { ++told; });
    for (int round = 1; round <= 2; ++round) {
        const echo_memory::share small(memory);
        {
            echo_memory::share less(memory);
            CHECK(less.reach(echo_memory::much));
        }
        CHECK(told == round - 1);
        {
            echo_memory::share one(memory);
            CHECK(one.reach(2 * echo_memory::much));
            {
                echo_memory::share two(memory);
                CHECK(two.reach(echo_memory::much));
            }
            CHECK(told == round - 1);
        }
        CHECK(told == round);
    }
}

TEST_CASE("memory is shared out and comes back") {
    constexpr std::size_t step = echo_memory::step;
    echo_memory memory(2 * step);
    {
        echo_memory::share one(memory);
        CHECK(one.reach(1));
        CHECK(one.reach(step));
        CHECK(one.reach(2 * step));
        echo_memory::share two(memory);
        CHECK(two.reach(2 * step));
        CHECK_FALSE(two.reach(2 * step + 1));
        CHECK_FALSE(one.reach(2 * step + 1));
        echo_memory::share three(memory);
        CHECK(three.reach(step));
    }
    echo_memory::share again(memory);
    CHECK(again.reach(3 * step));
    CHECK_FALSE(again.reach(4 * step));
}
