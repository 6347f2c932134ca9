#include "message_pace.hpp"

#include <chrono>

#include <catch2/catch_test_macros.hpp>

namespace rota::http::ws {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a message has a grace, and earns time with what comes of it") {
    message_pace pace;
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

} // namespace
} // namespace rota::http::ws
