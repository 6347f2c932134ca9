#include "percent.hpp"

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("escapes are valid or not") {
    for (std::string_view text : {"", "abc", "%20", "a%2Fb%fF", "%25%30%30"}) {
        CAPTURE(text);
        CHECK(valid_escapes(text));
    }
    for (std::string_view text :
         {"%", "a%", "%2", "%2g", "%g2", "%%20", "%00", "%20%00", "%20%2"}) {
        CAPTURE(text);
        CHECK_FALSE(valid_escapes(text));
    }
}

TEST_CASE("paths are decoded, encoded slashes stand out") {
    std::string out = "leftover";
    decode_path("/a%20b%2fc/%2F+%25", out);
    CHECK(out == std::string("/a b\0c/\0+%", 10));
    decode_path("", out);
    CHECK(out.empty());
}

TEST_CASE("form values are decoded, what is no escape stays") {
    CHECK(decode_form("a+b%2Bc") == "a b+c");
    CHECK(decode_form("%") == "%");
    CHECK(decode_form("100%25%2") == "100%%2");
    CHECK(decode_form("%C3%A9%zz") == "\xc3\xa9%zz");
    CHECK(decode_form("%00") == std::string(1, '\0'));
}

} // namespace
} // namespace rota::http
