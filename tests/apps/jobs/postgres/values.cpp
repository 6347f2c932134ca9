#include "jobs/postgres/values.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace jobs;
using namespace std::string_literals;

namespace {

std::string only(const postgres_values& values) {
    const postgres_values::view v = values.get();
    REQUIRE(v.values.size() == 1);
    CHECK(v.formats.at(0) == 1);
    return {v.values.at(0), static_cast<std::size_t>(v.lengths.at(0))};
}

} // namespace

TEST_CASE("numbers and texts are sent in binary") {
    CHECK(only(postgres_values().add(std::int64_t{258})) == "\0\0\0\0\0\0\1\2"s);
    CHECK(only(postgres_values().add(std::int64_t{-1})) == std::string(8, '\xff'));
    CHECK(only(postgres_values().add(std::string_view("a\0b", 3))) == "a\0b"s);
    CHECK(only(postgres_values().add(std::string_view())).empty());
}

TEST_CASE("arrays are sent with their type, and with what is not there") {
    CHECK(only(postgres_values().add(std::vector<std::int64_t>{7})) ==
          "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\1\0\0\0\1\0\0\0\x08\0\0\0\0\0\0\0\7"s);
    CHECK(only(postgres_values().add_texts({"ab"})) ==
          "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\1\0\0\0\1\0\0\0\2ab"s);
    CHECK(only(postgres_values().add_bytes({std::nullopt, "x"})) ==
          "\0\0\0\1\0\0\0\1\0\0\0\x11\0\0\0\2\0\0\0\1\xff\xff\xff\xff\0\0\0\1x"s);
    CHECK(only(postgres_values().add_bytes({})) == "\0\0\0\0\0\0\0\0\0\0\0\x11"s);
}

TEST_CASE("values keep their order") {
    postgres_values values;
    values.add(std::string_view("name")).add(std::uint64_t{3}).add_texts({});
    const postgres_values::view v = values.get();
    CHECK(v.lengths == std::vector<int>{4, 8, 12});
}
