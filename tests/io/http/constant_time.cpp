#include "constant_time.hpp"

#include <string_view>

#include <catch2/catch_test_macros.hpp>

using namespace std::string_view_literals;

namespace rota::http {

TEST_CASE("Secrets are compared to their ends") {
    CHECK(difference("", "") == 0);
    CHECK(difference("abc", "abc") == 0);
    CHECK(difference("abc", "abd") != 0);
    CHECK(difference("abc", "\xe1\x62\x63") != 0);
}

TEST_CASE("A part of a secret is not the secret") {
    CHECK(difference("abc", "ab") != 0);
    CHECK(difference("abc", "") != 0);
    CHECK(difference("", "abc") != 0);
    CHECK(difference("", "\0"sv) != 0);
    CHECK(difference("abc", "abcabc") != 0); // it is looked at again and again
    CHECK(difference("abc", "abc\0"sv) != 0);
}

} // namespace rota::http
