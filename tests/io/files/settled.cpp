#include "settled.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr file_time begin{1'000'000s};

std::int64_t in_ns(file_time at) { return at.time_since_epoch().count(); }

/// Last written to, and changed, so long before the look at it.
std::optional<nanoseconds> left(nanoseconds modified, nanoseconds changed, nanoseconds look = 0ns,
                                std::uint64_t size = 0) {
    const io::file_facts facts{
        .size = size, .modified_ns = in_ns(begin - modified), .changed_ns = in_ns(begin - changed)};
    return time_to_settle(facts, begin, begin + look);
}

TEST_CASE("facts are settled two ticks behind the last change") {
    CHECK(left(1h, 1h) == std::nullopt);
    CHECK(left(20ms, 20ms) == std::nullopt);
    CHECK(left(20ms, 20ms - 1ns) == 1ns);
    CHECK(left(5ms, 20ms) == 15ms);
    CHECK(left(1h, 4ms) == 16ms);
    CHECK(left(4ms, 7ms) == 16ms);
    CHECK(left(0ns, 0ns) == 20ms);
}

TEST_CASE("what is large may still be written by the call that has changed it") {
    constexpr std::uint64_t mib = 1 << 20;
    CHECK(left(20ms, 20ms, 0ns, mib - 1) == std::nullopt);
    CHECK(left(20ms, 20ms, 0ns, mib) == 2ms);
    CHECK(left(30ms, 30ms, 0ns, 160 * mib) == 310ms);
    CHECK(left(340ms, 340ms, 0ns, 160 * mib) == std::nullopt);
    CHECK(left(0ns, 0ns, 0ns, std::numeric_limits<std::uint64_t>::max()) >= 1h);
}

TEST_CASE("a look that took long is not one of its end") {
    CHECK(left(19ms, 19ms, 5s) == 0ns);
    CHECK(left(5ms, 5ms, 5ms) == 10ms);
    CHECK(left(-5ms, 1h, 5ms) == 20ms); // within it
    CHECK(left(20ms, 20ms, 5s) == std::nullopt);
}

TEST_CASE("a change to come is not waited for") {
    CHECK(left(-1ns, -1ns) == std::nullopt);
    CHECK(left(-1h, -1h) == std::nullopt);
    CHECK(left(-1h, 19ms) == 1ms);
    using limits = std::numeric_limits<std::int64_t>;
    for (const std::int64_t at : {limits::min(), limits::max()}) {
        const io::file_facts facts{.modified_ns = at, .changed_ns = at};
        CHECK(time_to_settle(facts, begin, begin) == std::nullopt);
    }
}

/// A file, its clock, and who waits by it.
struct scene {
    file_time now = begin;
    nanoseconds age{};
    int written_again = 0; ///< during so many waits
    std::uint64_t size = 1;
    int waits = 0;
    io::file_facts facts{};

    bool read() {
        file_time written = now - age;
        return read_settled(
            facts, [&] { return io::file_facts{.size = size, .changed_ns = in_ns(written)}; },
            [&] { return now; },
            [&](nanoseconds wait) {
                CHECK(wait <= 100ms);
                now += wait;
                if (++waits <= written_again)
                    written = now;
            });
    }
};

TEST_CASE("facts are read until they are settled, a few times") {
    scene old{.age = 1s};
    CHECK(old.read());
    CHECK(old.waits == 0);
    CHECK(old.facts.size == 1);
    scene young{.age = 3ms};
    CHECK(young.read());
    CHECK(young.waits == 1);
    CHECK(young.now == begin + 17ms);
    scene again{.written_again = 2};
    CHECK(again.read());
    CHECK(again.waits == 3);
    CHECK(again.facts.changed_ns == in_ns(begin + 40ms));
    scene always{.written_again = 3};
    CHECK_FALSE(always.read());
    CHECK(always.waits == 3);
    scene large{.size = 40 << 20};
    CHECK(large.read());
    CHECK(large.now == begin + 100ms);
    scene too_large{.size = 41 << 20};
    CHECK_FALSE(too_large.read());
    CHECK(too_large.waits == 0);
    scene ahead{.age = -1h};
    CHECK(ahead.read());
    CHECK(ahead.waits == 0);
}

} // namespace
} // namespace rota::http
