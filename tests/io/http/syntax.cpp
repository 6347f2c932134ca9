#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

bool has_control_slowly(std::string_view text) {
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        if ((u < 0x20 && u != '\t') || u == 0x7f)
            return true;
    }
    return false;
}

TEST_CASE("every byte at every place is seen by the search for control characters") {
    for (const std::size_t size : {1U, 7U, 8U, 9U, 16U, 23U}) {
        for (std::size_t at = 0; at < size; ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                for (const char around : {'a', '\x80', '\xff', ' ', '\t', '\x21'}) {
                    std::string text(size, around);
                    text[at] = static_cast<char>(byte);
                    REQUIRE(fields::has_control(text) == has_control_slowly(text));
                }
            }
        }
    }
    CHECK_FALSE(fields::has_control(""));
}

TEST_CASE("tokens, lists, case and white space") {
    CHECK(fields::is_token("!#$%&'*+-.^_`|~09azAZ"));
    for (std::string_view text : {"", "a b", "a:", "a\t", "\"a\"", "a/b", "(a)", "\x80"}) {
        CHECK_FALSE(fields::is_token(text));
    }
    CHECK(fields::iequals("Content-LENGTH", "content-length"));
    CHECK_FALSE(fields::iequals("a", "ab"));
    CHECK_FALSE(fields::iequals("@", "`")); // differ in the bit that letters' cases differ in
    CHECK_FALSE(fields::iequals("[", "{"));
    CHECK(fields::trim(" \t a b\t ") == "a b");
    CHECK(fields::trim(" \t").empty());
    CHECK(syntax::hex_value('f') == 15);
    CHECK(syntax::hex_value('A') == 10);
    CHECK(syntax::hex_value('g') == -1);
    std::string_view list = " a ,, b,c";
    CHECK(fields::next_list_item(list) == "a");
    CHECK(fields::next_list_item(list).empty());
    CHECK(fields::next_list_item(list) == "b");
    CHECK(fields::next_list_item(list) == "c");
    CHECK(list.empty());
}

} // namespace
} // namespace rota::http
