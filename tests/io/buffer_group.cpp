#include "buffer_group.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <liburing.h>

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

namespace {

/// What a kernel does with a ring that it has been given, from the beginning.
struct kernel {
    explicit kernel(buffer_group& of) : group(of), ring(of.ring_for_kernel()) {}
    std::uint16_t take() {
        auto* const entries = reinterpret_cast<io_uring_buf*>(ring);
        if (head == ring->tail)
            return buffer_group::none;
        group.taken_by_kernel();
        return entries[head++ & (group.count() - 1)].bid;
    }
    buffer_group& group;
    io_uring_buf_ring* ring;
    std::uint16_t head = 0;
};

} // namespace

TEST_CASE("one kernel takes the place of another while buffers are away") {
    buffer_group group(0, 8, 16);
    std::vector<std::uint16_t> away;
    const auto take = [&](kernel& from, std::size_t count) {
        for (; count != 0; --count) {
            away.push_back(from.take());
            REQUIRE(away.back() < 8);
        }
    };
    const auto give_back = [&](std::size_t count) {
        for (; count != 0; --count) {
            group.give_back(away.front());
            away.erase(away.begin());
        }
        group.publish();
    };
    kernel first(group);
    CHECK_FALSE(group.is_carried());
    for (int i = 0; i < 10'000; ++i) { // the first ring's place is far from its beginning
        take(first, 7);
        give_back(7);
    }
    take(first, 5);
    give_back(2);
    for (int change = 0; change < 20; ++change) {
        kernel next(group); // three are away
        CHECK(group.is_carried());
        take(next, 5);
        CHECK(next.take() == buffer_group::none);
        give_back(6);
        CHECK(next.take() == buffer_group::none);
        group.refill();
        for (int i = 0; i < 10'000; ++i) {
            take(next, 4);
            give_back(3);
            give_back(1);
            group.refill();
        }
        take(next, 2);
        CHECK(std::set(away.begin(), away.end()).size() == away.size());
        give_back(1); // and not refilled
    }
    give_back(away.size());
    group.reset();
    CHECK_FALSE(group.is_carried());
    for (std::uint16_t i = 0; i < 8; ++i)
        CHECK(group.take() == i);
}

TEST_CASE("impossible sizes are refused") {
    CHECK_THROWS_AS(buffer_group(0, 0, 16), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 3, 16), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 65536, 16), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 4, 0), std::invalid_argument);
    CHECK_THROWS_AS(buffer_group(0, 32768, std::size_t{1} << 48), std::bad_alloc);
    CHECK_NOTHROW(buffer_group(0, 32768, 1));
}
