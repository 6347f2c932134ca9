#include "utf8_check.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>

namespace rota::http::ws {
namespace {

/// How many bytes it takes until it says no; npos if it does not.
std::size_t fails_at(std::string_view text) {
    utf8_check check;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!check.take(text.substr(i, 1)))
            return i;
    }
    return std::string_view::npos;
}

bool is_utf8(std::string_view text) {
    utf8_check check;
    return check.take(text) && check.complete();
}

TEST_CASE("what is UTF-8") {
    for (const std::string_view text :
         {"", "ascii", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
          "0123456\xc3\xa4 89012345\xc3\xa4", "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"}) {
        CHECK(is_utf8(text));
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            utf8_check check;
            CHECK((check.take(text.substr(0, cut)) && check.take(text.substr(cut)) &&
                   check.complete()));
        }
    }
    CHECK(is_utf8(std::string_view("a\0b", 3)));
}

TEST_CASE("what is none is known at the first byte that makes it so") {
    struct wrong {
        std::string_view text;
        std::size_t at;
    };
    constexpr wrong table[] = {
        {"\x80", 0},         {"\xbf", 0},         {"\xc0\xaf", 0},     {"\xc1\xbf", 0},
        {"\xf5\x80", 0},     {"\xff", 0},         {"\xfe", 0},         {"\xe0\x80\xaf", 1},
        {"\xe0\x9f\xbf", 1}, {"\xed\xa0\x80", 1}, {"\xed\xbf\xbf", 1}, {"\xf0\x8f\xbf\xbf", 1},
        {"\xf4\x90\x80", 1}, {"\xc3(", 1},        {"\xe2\x82(", 2},    {"\xf0\x9f\x98(", 3},
        {"abc\x80", 3},      {"\xc3\xa4\xa4", 2}, {"12345678\xff", 8},
    };
    for (const wrong& each : table) {
        CHECK(fails_at(each.text) == each.at);
        utf8_check whole;
        CHECK(!whole.take(each.text));
        CHECK(!whole.take("a"));
    }
}

TEST_CASE("what ends within a character is not complete") {
    for (const std::string_view text : {"\xc3", "a\xe2\x82", "\xf0\x9f\x98"}) {
        utf8_check check;
        CHECK(check.take(text));
        CHECK(!check.complete());
        check.reset();
        CHECK(check.complete());
    }
}

} // namespace
} // namespace rota::http::ws
