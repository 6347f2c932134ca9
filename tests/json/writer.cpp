#include <rota/json/writer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

using rota::json::writer;

namespace {

std::string quoted(std::string_view text) {
    std::string out;
    rota::json::append_quoted(out, text);
    return out;
}

} // namespace

TEST_CASE("objects and arrays get their commas") {
    std::string out = "x";
    writer w(out);
    w.begin_object().member("a", 1).key("b").begin_array();
    w.value("t").value(true).null().begin_object().end_object().raw("[0]").end_array();
    w.member("c", false).key("d").begin_object().member("e", "f").end_object().end_object();
    CHECK(out == R"(x{"a":1,"b":["t",true,null,{},[0]],"c":false,"d":{"e":"f"}})");
}

TEST_CASE("numbers") {
    std::string out;
    writer w(out);
    w.begin_array().value(UINT64_MAX).value(INT64_MIN).value(std::uint8_t{7}).end_array();
    CHECK(out == "[18446744073709551615,-9223372036854775808,7]");
}

TEST_CASE("strings are escaped") {
    CHECK(quoted("") == R"("")");
    CHECK(quoted("a\"b\\c/") == R"("a\"b\\c/")");
    CHECK(quoted(std::string_view("\n\r\t\0\x1f\x7f", 6)) == R"("\n\r\t\u0000\u001f\u007f")");
    CHECK(quoted("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80") ==
          "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

TEST_CASE("what is not UTF-8 is replaced") {
    const std::string bad = "\xef\xbf\xbd";
    CHECK(quoted("a\xff"
                 "b") == "\"a" + bad + "b\"");
    CHECK(quoted("\xc3") == '"' + bad + '"');
    CHECK(quoted("\xe2\x82") == '"' + bad + '"'); // one for as much of a sequence as is there
    CHECK(quoted("\xe2\x82(") == '"' + bad + "(\"");
    CHECK(quoted("\xf0\x9f\x98\xe2\x82\xac") == '"' + bad + "\xe2\x82\xac\"");
    CHECK(quoted("\xc0\xaf") == '"' + bad + bad + '"');
    CHECK(quoted("\xed\xa0\x80") == '"' + bad + bad + bad + '"');
    CHECK(quoted("\xf4\x90\x80\x80") == '"' + bad + bad + bad + bad + '"');
}
