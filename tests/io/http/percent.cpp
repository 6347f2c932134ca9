#include <rota/http/percent.hpp>

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

TEST_CASE("an escaped NUL is found") {
    CHECK(has_escaped_nul("/a%00.png"));
    CHECK_FALSE(has_escaped_nul("/a%0/0%20"));
}

TEST_CASE("form values are decoded, what is no escape stays") {
    CHECK(decode_form("a+b%2Bc") == "a b+c");
    CHECK(decode_form("%") == "%");
    CHECK(decode_form("100%25%2") == "100%%2");
    CHECK(decode_form("%C3%A9%zz") == "\xc3\xa9%zz");
    CHECK(decode_form("%00") == std::string(1, '\0'));
}

TEST_CASE("what is decoded strictly has escapes only") {
    CHECK(percent_decoded("a%20b%2F+") == "a b/+");
    CHECK(percent_decoded("") == "");
    CHECK(percent_decoded("%00") == std::string(1, '\0'));
    for (std::string_view text : {"%", "a%2", "%zz", "%%20"}) {
        CAPTURE(text);
        CHECK_FALSE(percent_decoded(text));
    }
}

TEST_CASE("encoding takes every byte there and back") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte)
        all += static_cast<char>(byte);
    CHECK(percent_decoded(percent_encoded(all)) == all);
    CHECK(decode_form(encode_form(all)) == all);
    CHECK(percent_encoded("J\xc3\xb6rg & co/~1") == "J%C3%B6rg%20%26%20co%2F~1");
    CHECK(percent_encoded("/a b/c", "/") == "/a%20b/c");
    CHECK(encode_form("a b+c=d&") == "a+b%2Bc%3Dd%26");
}

} // namespace
} // namespace rota::http
