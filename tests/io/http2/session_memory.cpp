#include "session_memory.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "allocations_left.hpp"

namespace rota::http {
namespace {

constexpr std::size_t large = 40'000; // that nobody keeps

TEST_CASE("http2: a session's memory grows with what is in it, and goes with it") {
    h2::session_memory of;
    void* const first = of.allocate(5);
    std::memcpy(first, "12345", 5);
    void* const larger = of.reallocate(first, large);
    CHECK(std::string_view(static_cast<const char*>(larger), 5) == "12345");
    CHECK(of.reallocate(nullptr, large) != nullptr); // left to the end
    of.deallocate(larger);
    of.deallocate(nullptr);
    CHECK_FALSE(of.was_short());
}

TEST_CASE("http2: what is given back twice behind a lack of memory does no harm") {
    h2::session_memory of;
    void* const kept = of.allocate(large);
    void* const twice = of.allocate(large);
    ::test::allocations_left = 0;
    ::test::failures_left = 1;
    void* const none = of.reallocate(kept, 2 * large);
    ::test::allocations_left = ::test::failures_left = -1;
    CHECK(none == nullptr);
    CHECK(of.was_short());
    of.deallocate(twice);
    of.deallocate(twice);
    std::memset(kept, 'x', large);
    CHECK(of.allocate(large) != nullptr);
}

} // namespace
} // namespace rota::http
