#include "histogram.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>

using pace::histogram;

TEST_CASE("histogram: empty") {
    const histogram seen;
    CHECK(seen.count() == 0);
    CHECK(seen.max() == 0);
    CHECK(seen.mean() == 0);
    CHECK(seen.percentile(99) == 0);
}

TEST_CASE("histogram: ranks") {
    histogram seen;
    for (std::uint64_t value = 1; value <= 200; ++value)
        seen.add(value);
    CHECK(seen.count() == 200);
    CHECK(seen.mean() == 100.5);
    CHECK(seen.percentile(0) == 1);
    CHECK(seen.percentile(50) == 100);
    CHECK(seen.percentile(99) == 198);
    CHECK(seen.percentile(99.9) == 200);
    CHECK(seen.percentile(100) == 200);
}

TEST_CASE("histogram: no value is off by more than 1%") {
    for (std::uint64_t value = 1; value < UINT64_MAX / 3 * 2; value += value / 300 + 1) {
        histogram seen;
        seen.add(value);
        seen.add(UINT64_MAX); // else the maximum would bound what is told
        const std::uint64_t told = seen.percentile(50);
        const std::uint64_t off = told > value ? told - value : value - told;
        INFO(value << " is told as " << told);
        REQUIRE(off <= value / 100);
    }
}

TEST_CASE("histogram: the largest values") {
    histogram seen;
    seen.add(UINT64_MAX);
    seen.add(0);
    CHECK(seen.max() == UINT64_MAX);
    CHECK(seen.percentile(50) == 0);
    CHECK(seen.percentile(100) > UINT64_MAX / 100 * 99);
}
