#include "jobs/rules/backoff.hpp"

#include <cstdint>
#include <set>

#include <catch2/catch_test_macros.hpp>

using namespace jobs;

namespace {

/// That it waits so long at most, half of that at least, and not always the same.
void check_wait(const backoff_settings& as, std::uint32_t failures, std::int64_t longest) {
    CAPTURE(failures, longest);
    std::set<std::int64_t> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const std::int64_t wait = backoff_ms(as, failures, seed);
        CHECK(wait <= longest);
        CHECK(wait >= longest - longest / 2);
        CHECK(wait == backoff_ms(as, failures, seed));
        seen.insert(wait);
    }
    CHECK((longest < 20 || seen.size() > 10));
}

} // namespace

TEST_CASE("the first failures are not waited for") {
    for (const std::uint32_t failures : {0U, 1U, 2U})
        CHECK(backoff_ms({}, failures, 7) == 0);
    CHECK(backoff_ms({.after = 5}, 5, 7) == 0);
    CHECK(backoff_ms({.after = 5}, 6, 7) > 0);
    CHECK(backoff_ms({.after = 0}, 1, 7) > 0);
}

TEST_CASE("later failures are waited for, longer each time, and not for ever") {
    std::int64_t longest = 100;
    for (std::uint32_t failures = 3; failures < 15; ++failures, longest *= 2)
        check_wait({}, failures, longest);
    for (const std::uint32_t failures : {16U, 100U, 2'000U, UINT32_MAX})
        check_wait({}, failures, 600'000);
}

TEST_CASE("waits are what the queue is set to") {
    const backoff_settings as{
        .after = 0, .initial_ms = 1'000, .factor_milli = 1'500, .max_ms = 2'000};
    check_wait(as, 1, 1'000);
    check_wait(as, 2, 1'500);
    check_wait(as, 3, 2'000);
    check_wait({.after = 0, .initial_ms = 5, .factor_milli = 1'000}, 1'000'000, 5);
    check_wait({.after = 0, .initial_ms = 0}, UINT32_MAX, 0);
    check_wait({.after = 0, .initial_ms = 0, .max_ms = 0}, 3, 0);
    check_wait(
        {
            .max_ms = 2'592'000'000,
        },
        UINT32_MAX, 2'592'000'000);
}
