#include <rota/http/detail/rest_memo.hpp>

#include <chrono>
#include <cstdint>
#include <limits>

#include <catch2/catch_test_macros.hpp>

using namespace rota::http;

TEST_CASE("what a session knows outlasts a rest in two numbers") {
    const auto now =
        std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now());
    const session_rest rest{
        .wanted = true, .until = now, .requests = 12'345, .bytes_sent = 678, .empty_lines = 9};
    const session_rest again = rest_of(memo_of(rest));
    CHECK(again.wanted);
    CHECK(again.until == rest.until);
    CHECK(again.requests == 12'345);
    CHECK(again.bytes_sent == 678);
    CHECK(again.empty_lines == 9);
}

TEST_CASE("counts that are too large for that are as large as can be") {
    session_rest rest;
    rest.requests = std::numeric_limits<std::uint64_t>::max();
    rest.bytes_sent = std::numeric_limits<std::uint64_t>::max();
    rest.empty_lines = 1'000;
    const session_rest again = rest_of(memo_of(rest));
    CHECK(again.requests == rest.requests);
    CHECK(again.bytes_sent == 65'535);
    CHECK(again.empty_lines == 255);
    CHECK(again.until == rest.until);
}
