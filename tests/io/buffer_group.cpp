#include "buffer_group.hpp"

#include <set>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using rota::io::buffer_group;

TEST_CASE("all buffers are there at first, each once, and apart from each other") {
    buffer_group group(7, 8, 64);
    CHECK(group.id() == 7);
    std::set<char*> where;
    for (int i = 0; i < 8; ++i) {
        const std::uint16_t b = group.take();
        REQUIRE(b < 8);
        char* const memory = group.data(b);
        memory[0] = memory[63] = 'x';
        where.insert(memory);
    }
    CHECK(where.size() == 8);
    // A cache line between them, so that not all begin on the same sets.
    CHECK(*where.rbegin() - *where.begin() == 7 * (64 + 64));
    CHECK(group.take() == buffer_group::none);
}

TEST_CASE("what is given back can be taken once it is published") {
    buffer_group group(0, 2, 16);
    const std::uint16_t a = group.take();
    const std::uint16_t b = group.take();
    group.give_back(b);
    CHECK(group.take() == buffer_group::none);
    CHECK(group.publish());
    CHECK(!group.publish());
    CHECK(group.take() == b);
    CHECK(group.take() == buffer_group::none);
    group.give_back(a);
    group.give_back(b);
    CHECK(group.publish());
    CHECK(group.take() == a);
    group.untake();
    CHECK(group.take() == a);
    CHECK(group.take() == b);
}

TEST_CASE("head and tail wrap round together") {
    buffer_group group(0, 4, 16);
    for (int i = 0; i < 70'000; ++i) {
        const std::uint16_t b = group.take();
        if (b >= 4)
            FAIL("no buffer in round " << i);
        group.give_back(b);
        group.publish();
    }
    std::set<std::uint16_t> all;
    for (int i = 0; i < 4; ++i)
        all.insert(group.take());
    CHECK(all == std::set<std::uint16_t>{0, 1, 2, 3});
    CHECK(group.take() == buffer_group::none);
}

TEST_CASE("a new filler finds every buffer at home") {
    buffer_group group(0, 4, 16);
    group.give_back(group.take());
    group.publish();
    group.take();
    group.reset();
    for (std::uint16_t i = 0; i < 4; ++i)
        CHECK(group.take() == i);
    CHECK(group.take() == buffer_group::none);
}

TEST_CASE("impossible sizes are refused") {
    CHECK_THROWS_AS(buffer_group(0, 0, 16), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 3, 16), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 65536, 16), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 4, 0), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 32768, std::size_t{1} << 48), std::bad_alloc);
    CHECK_NOTHROW(buffer_group(0, 32768, 1));
}
