#include <rota/io/send_patience.hpp>

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using rota::io::send_patience;

namespace {

const send_patience::time_point start{1h};

} // namespace

TEST_CASE("a peer that takes nothing has its time, and no more") {
    send_patience p(10s, start, 500);
    CHECK(p.look(10s, 100, start + 4s, 500) == 6s);
    CHECK(p.look(10s, 100, start + 9s, 500) == 1s);
    CHECK(p.look(10s, 100, start + 10s, 500) == 0s);
}

TEST_CASE("a peer below the rate is given up a little later, one above it never") {
    send_patience below(10s, start, 0);
    send_patience above(10s, start, 0);
    bool over = false;
    for (int second = 1; second <= 1000; ++second) {
        const auto now = start + std::chrono::seconds(second);
        const auto bytes = static_cast<std::uint64_t>(second);
        over = over || below.look(10s, 100, now, 50 * bytes) <= 0s;
        CHECK(above.look(10s, 100, now, 110 * bytes) > 0s);
        if (second < 19)
            CHECK(!over);
    }
    CHECK(over);
}

TEST_CASE("what a peer has taken quickly gives it no more than the time it had at first") {
    send_patience p(10s, start, 0);
    CHECK(p.look(10s, 1, start + 1s, std::uint64_t{1} << 60) == 10s);
    CHECK(p.look(10s, 1, start + 12s, std::uint64_t{1} << 60) == -1s);
}

TEST_CASE("without a rate anything taken renews all of it") {
    send_patience p(10s, start, 0);
    CHECK(p.look(10s, 0, start + 9s, 1) == 10s);
    CHECK(p.look(10s, 0, start + 19s, 1) == 0s);
}
