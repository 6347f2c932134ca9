#include "jobs/rules/time_of_day.hpp"

#include <chrono>
#include <cstdlib>

#include <catch2/catch_test_macros.hpp>

using namespace jobs;
using namespace std::chrono_literals;

TEST_CASE("the time of day is looked up once a second, and goes on evenly meanwhile") {
    std::chrono::nanoseconds offset = 1h;
    int looks = 0;
    const time_of_day time([&] {
        ++looks;
        return offset;
    });
    const time_of_day::clock::time_point begin(1'000s);
    CHECK(time.at(begin) == 4'600'000);
    CHECK(time.steady(4'600'000) == begin);
    offset += 5s;
    CHECK(time.at(begin + 999ms) == 4'600'999);
    CHECK(time.at(begin + 1s) == 4'606'000);
    CHECK(time.steady(4'606'000) == begin + 1s);
    offset -= 2h;
    CHECK(time.at(begin + 2s - 1ns) == 4'606'999);
    CHECK(time.at(begin + 2s) == 4'607'000 - 7'200'000);
    CHECK(time.at(begin + 1'001ms) == 4'606'001 - 7'200'000); // a worker whose clock is behind
    CHECK(looks == 4);                                        // the first as it was made
    CHECK(time.at(begin - 500s) == 4'605'000 - 7'700'000);    // another clock
    CHECK(looks == 5);
}

TEST_CASE("what a look may be wrong by sets no time, drift does") {
    std::chrono::nanoseconds offset = 1h;
    const time_of_day time([&] { return offset; });
    time_of_day::clock::time_point at(1'000s);
    CHECK(time.at(at) == 4'600'000);
    offset += 1ms;
    CHECK(time.at(at += 1s) == 4'601'000);
    offset -= 3ms;
    CHECK(time.at(at += 1s) == 4'602'000);
    offset -= 1ms;
    CHECK(time.at(at += 1s) == 4'602'997);
}

TEST_CASE("it is the machine's") {
    const time_of_day time(steady_to_wall);
    const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    CHECK(std::abs(time.at(time_of_day::clock::now()) - wall.count()) < 60'000);
}
