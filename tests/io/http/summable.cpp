#include <rota/http/detail/summable.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("a size without end has room for others") {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    static_assert(summable(std::size_t{0}) == 0);
    static_assert(summable(std::size_t{1'000'000}) == 1'000'000);
    CHECK(summable(most) + summable(most) + 1'000'000 > summable(most));
    CHECK(static_cast<std::int64_t>(summable(most)) > 0);
}

} // namespace
} // namespace rota::http
