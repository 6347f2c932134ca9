#include "form_text.hpp"

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("what is UTF-8") {
    for (const char* const text : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                   "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        CHECK(is_utf8(text));
    CHECK(is_utf8(std::string_view("\0", 1)));
    for (const char* const text :
         {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2g", "\xe0\x9f\xbf", "\xe0\xa0",
          "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff",
          "a\xc3", "\xe2\x82\xac\xe2\x82"})
        CHECK_FALSE(is_utf8(text));
}

TEST_CASE("names as HTML writes them") {
    CHECK(html_unescaped("a%22b%0D%0Ac%0d%0a") == "a\"b\r\nc\r\n");
    CHECK(html_unescaped("100%25 %20 %") == "100%25 %20 %");
    CHECK(html_unescaped("%2") == "%2");
    CHECK(html_unescaped("%%22") == "%\"");
    CHECK(html_unescaped("").empty());
}

TEST_CASE("names of files with escapes") {
    CHECK(percent_unescaped("plain.txt") == "plain.txt");
    CHECK(percent_unescaped("na%C3%AFve%20file.txt") == "na\xc3\xafve file.txt");
    CHECK(percent_unescaped("a%22b") == "a\"b");
    CHECK(percent_unescaped("100%") == "100%");
    CHECK(percent_unescaped("100% of %22x%22") == "100% of \"x\"");
    CHECK(percent_unescaped("%ff.txt") == "%ff.txt"); // no UTF-8
    CHECK(percent_unescaped("%C3.txt") == "%C3.txt");
}

TEST_CASE("windows-1252, by any of its names") {
    for (const char* const name :
         {"windows-1252", "ISO-8859-1", "latin1", "US-ASCII", " iso-8859-1 ", "Cp1252", "l1",
          "iso88591", "ISO_8859-1:1987", "csISOLatin1", "cp819", "IBM819", "iso-ir-100", "x-cp1252",
          "ANSI_X3.4-1968"})
        CHECK(is_windows_1252(name));
    for (const char* const name : {"", "utf-8", "UTF8", "iso-8859-15", "latin"})
        CHECK_FALSE(is_windows_1252(name));
    CHECK(utf8_of_windows_1252("a\xe4\x80\xff\x81") == "a\xc3\xa4\xe2\x82\xac\xc3\xbf\xc2\x81");
}

} // namespace
} // namespace rota::http
