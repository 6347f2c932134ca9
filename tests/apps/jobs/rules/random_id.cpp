#include "jobs/rules/random_id.hpp"

#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("ids are 32 hexadecimal digits, and never the same") {
    std::set<std::string> all;
    for (int i = 0; i < 1'000; ++i) {
        const std::string id = jobs::random_id();
        CHECK(id.size() == 32);
        CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
        all.insert(id);
    }
    CHECK(all.size() == 1'000);
}
