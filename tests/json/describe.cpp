#include <rota/json/describe.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace rota::json;

namespace {

struct point {
    int x = 0;
    int y = 0;
    static constexpr auto json_members = members(member("x", &point::x), member("y", &point::y));
};

struct foreign {
    int x = 0;
};

struct unknown {};

enum class color { red, green };
constexpr auto json_names(color) {
    return names<color>({{"red", color::red}, {"green", color::green}});
}
enum class nameless { one };

} // namespace

template <>
inline constexpr auto rota::json::members_of<foreign> = members(member("x", &foreign::x));

TEST_CASE("what is described is known at compile time") {
    static_assert(described<point>);
    static_assert(described<foreign>);
    static_assert(!described<unknown>);
    static_assert(!described<std::string>);
    static_assert(named_enum<color>);
    static_assert(!named_enum<nameless>);
    static_assert(!named_enum<int>);
    static_assert(std::get<1>(members_of<point>).name == "y");
    static_assert(json_names(color())[1].value == color::green);
    static_assert(detail::is_list<std::vector<point>>);
    static_assert(!detail::is_list<std::string>);
    static_assert(detail::is_map<std::map<std::string, int>>);
    static_assert(!detail::is_map<std::map<int, int>>);
    CHECK(true);
}

TEST_CASE("numbers are within a range, whatever their type") {
    CHECK(between(1, 3)(1).empty());
    CHECK(between(1, 3)(3U).empty());
    CHECK(between(1, 3)(0) == "a number from 1 to 3");
    CHECK_FALSE(between(1, 3)(4ULL).empty());
    CHECK_FALSE(between(-5, -1)(0U).empty());
    CHECK_FALSE(between(-5, 5)(std::numeric_limits<unsigned long long>::max()).empty());
    CHECK(between(-5, 5)(0U).empty());
    CHECK(between(0, 1)(0.5).empty());
    CHECK_FALSE(between(0, 1)(1.5).empty());
    CHECK_FALSE(between(0U, 16'777'216)(16'777'218.0F).empty());
}

TEST_CASE("bounds of a range may be beyond the type") {
    CHECK(between(1, 1000)(std::int8_t{5}).empty());
    CHECK(between(1, 1000)(std::int8_t{-5}) == "a number from 1 to 1000");
    CHECK(between(-100'000, 100'000)(std::int16_t{5}).empty());
    CHECK(between(0, 4'000'000'000)(5).empty());
    CHECK(between(0, 10'000'000'000)(2'000'000'000).empty());
    CHECK_FALSE(between(10'000'000'000, 20'000'000'000)(1'500'000'000).empty());
    CHECK_THROWS_AS(between(0, std::numeric_limits<std::uint64_t>::max()), std::invalid_argument);
}

TEST_CASE("bounds of a range may have a fraction") {
    CHECK(between(0.5, 2.5)(0.5).empty());
    CHECK(between(0.5, 2.5)(2.4F).empty());
    CHECK(between(0.5, 2.5)(0.4999) == "a number from 0.5 to 2.5");
    CHECK(between(0, 0.5)(0.6) == "a number from 0 to 0.5");
    CHECK(between(0.5, 2.5)(2).empty());
    CHECK_FALSE(between(0.5, 2.5)(0U).empty());
    CHECK_FALSE(between(0.5, 2.5)(3).empty());
}

TEST_CASE("a length counts characters, or elements") {
    CHECK(length(1, 3)(std::string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")).empty());
    CHECK(length(1, 3)(std::string("abcd")) == "1 to 3 characters");
    CHECK_FALSE(length(1, 3)(std::string()).empty());
    CHECK(length(1, 3)(std::vector<int>(4)) == "1 to 3 elements");
    CHECK(length(0, 4)(std::vector<int>(4)).empty());
}
