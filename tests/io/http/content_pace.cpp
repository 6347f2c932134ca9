#include <rota/http/detail/content_pace.hpp>

#include <chrono>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

using namespace std::chrono_literals;

TEST_CASE("content has a grace, and earns time with what comes of it") {
    content_pace pace;
    CHECK(pace.left(10s, 240) == 10s);
    pace.waited(4s);
    CHECK(pace.left(10s, 240) == 6s);
    pace.came(480);
    CHECK(pace.left(10s, 240) == 8s);
    pace.waited(9s);
    CHECK(pace.left(10s, 240) == 0s);
    pace.came(480);
    CHECK(pace.left(10s, 240) == 1s);
}

TEST_CASE("content never has more time than there is in all, and that without a rate") {
    content_pace pace;
    pace.came(2'400);
    CHECK(pace.left(10s, 240, 15s) == 15s);
    CHECK(pace.left(10s, 240, 25s) == 20s);
    pace.waited(16s);
    CHECK(pace.left(10s, 240, 15s) == 0s);
    CHECK(pace.left(10s, 0, 60s) == 44s);
    CHECK(pace.left(10s, 1) == 10s + 2'400s - 16s);
}

} // namespace
} // namespace rota::http
