#include "jobs/postgres/token_walk.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include <catch2/catch_test_macros.hpp>

using namespace jobs;

namespace {

/// As many tokens as there are of each end.
using table = std::map<time_ms, std::uint64_t>;

std::uint64_t all(const table& tokens) {
    std::uint64_t sum = 0;
    for (const auto& [end, count] : tokens)
        sum += count;
    return sum;
}

/// Does what the walk asks for. What has been read for it.
std::uint64_t look(token_walk& walk, const token_walk::slice& what, const table& tokens) {
    std::uint64_t rows = 0;
    time_ms earliest = 0;
    for (auto at = tokens.lower_bound(what.before); at != tokens.begin() && rows < what.rows;) {
        --at;
        earliest = at->first;
        rows = std::min(what.rows, rows + at->second);
    }
    walk.seen(what, rows, earliest);
    return rows;
}

/// Adds `step` tokens again and again, all of which end at another time. The most there were.
std::uint64_t most_kept(std::size_t max, std::size_t step, std::size_t rounds) {
    token_walk walk(max);
    table tokens;
    std::uint64_t most = 0;
    std::uint64_t read_most = 0;
    time_ms now = 1;
    for (std::size_t i = 0; i < rounds; ++i) {
        tokens[++now] += step;
        most = std::max(most, all(tokens));
        const auto what = walk.next(step);
        if (!what)
            continue;
        read_most = std::max(read_most, look(walk, *what, tokens));
        const time_ms until = walk.beyond();
        tokens.erase(tokens.begin(), tokens.upper_bound(until));
        walk.trimmed(until, 0);
        if (until != 0)
            CHECK(all(tokens) >= max - max / 100 - step); // what ends with the last of them goes
    }
    CHECK(read_most <= token_walk::slice_rows);
    return most;
}

} // namespace

TEST_CASE("tokens beyond how many there may be are found in slices") {
    CHECK(most_kept(2, 1, 100) <= 4);
    CHECK(most_kept(1'000, 1, 20'000) <= 1'030);
    CHECK(most_kept(200'000, 100, 6'000) <= 200'000 / 10 * 12 + 2'000);
    CHECK(most_kept(200'000, 500, 3'000) <= 200'000 / 10 * 12 + 2'000);
}

TEST_CASE("a walk of tokens begins again at the end of them") {
    token_walk walk(30'000);
    const table tokens{{7, 9'000}, {8, 5'000}, {9, 6'000}};
    for (int i = 0; i < 10; ++i) {
        const auto what = walk.next(1'000);
        REQUIRE(what);
        look(walk, *what, tokens);
        CHECK(walk.beyond() == 0);
    }
}

TEST_CASE("a slice that two have looked at counts once") {
    token_walk walk(15'000);
    const table tokens{{7, 4'000}, {8, 5'000}, {9, 10'000}};
    const auto first = walk.next(1'000);
    const auto second = walk.next(1'000);
    REQUIRE(first);
    REQUIRE(second);
    look(walk, *first, tokens);
    look(walk, *second, tokens);
    CHECK(walk.beyond() == 0);
    const auto third = walk.next(1'000);
    REQUIRE(third);
    CHECK(third->before == 9);
    look(walk, *third, tokens);
    CHECK(walk.beyond() == 7);
    walk.trimmed(6, 0);
    CHECK(walk.beyond() == 7);
    walk.trimmed(7, token_walk::trim_rows);
    CHECK(walk.beyond() == 7);
    walk.trimmed(7, 100);
    CHECK(walk.beyond() == 0);
}
