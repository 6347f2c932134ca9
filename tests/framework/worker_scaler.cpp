#include <rota/worker_scaler.hpp>

#include <algorithm>
#include <chrono>
#include <functional>

#include <catch2/catch_test_macros.hpp>

using rota::worker_scaler;
using namespace std::chrono_literals;

namespace {

constexpr auto tick = 20ms;

/// How many there are after `length` of looks, of which each finds `busy(active)` at work.
std::size_t after(worker_scaler& s, std::size_t active, std::chrono::milliseconds length,
                  const std::function<std::size_t(std::size_t)>& busy) {
    for (std::chrono::milliseconds t{}; t < length; t += tick) {
        const std::size_t next = s.next(active, std::min(busy(active), active), tick);
        REQUIRE(next + 1 >= active);
        REQUIRE(next <= active + 1);
        active = next;
    }
    return active;
}

constexpr auto all = [](std::size_t active) { return active; };
constexpr auto none = [](std::size_t) { return std::size_t{0}; };

} // namespace

TEST_CASE("all at work: it grows to the most, and no further") {
    worker_scaler s(1, 8);
    CHECK(after(s, 1, 3s, all) == 8);
    CHECK(after(s, 8, 10s, all) == 8);
}

TEST_CASE("none at work: it shrinks to the least, and no further") {
    worker_scaler s(2, 8);
    CHECK(after(s, 2, 3s, all) == 8);
    CHECK(after(s, 8, 20s, none) == 2);
    CHECK(after(s, 2, 20s, none) == 2);
    CHECK_FALSE(s.above_least(2));
    CHECK(s.above_least(3));
}

TEST_CASE("a load for three finds four or five workers, and stays with them") {
    worker_scaler s(1, 16);
    const auto three = [](std::size_t) { return std::size_t{3}; };
    const std::size_t found = after(s, 1, 10s, three);
    CHECK(found >= 4);
    CHECK(found <= 6);
    std::size_t changes = 0;
    std::size_t active = found;
    for (std::chrono::milliseconds t{}; t < 60s; t += tick) {
        const std::size_t next = s.next(active, 3, tick);
        changes += next != active ? 1 : 0;
        active = next;
    }
    CHECK(changes == 0);
}

TEST_CASE("a moment of work does not make it grow, a moment of rest not shrink") {
    worker_scaler s(1, 8);
    CHECK(after(s, 1, 10s, none) == 1);
    CHECK(s.next(1, 1, tick) == 1);
    CHECK(after(s, 1, 10s, none) == 1);
    CHECK(after(s, 1, 3s, all) == 8);
    CHECK(after(s, 8, 300ms, none) == 8);
}

TEST_CASE("a count out of its bounds comes back into them") {
    worker_scaler s(2, 4);
    CHECK(s.next(1, 0, tick) == 2);
    CHECK(s.next(6, 6, tick) == 5);
}
