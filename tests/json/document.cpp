#include <rota/json/document.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace rota::json;

namespace {

std::string text_of(std::string_view source) {
    std::string out;
    document::parse(source).root().append_text(out);
    return out;
}

std::string canonical(std::string_view source) {
    std::string out;
    document::parse(source).root().append_canonical(out);
    return out;
}

} // namespace

TEST_CASE("every kind of value") {
    const document doc = document::parse(
        R"( {"n":null, "b":true, "i":-12, "f":1.5e3, "s":"a\u00e9\n", "a":[1,"x",[]], "o":{}} )");
    const value root = doc.root();
    CHECK(root.is(kind::object));
    CHECK(root.size() == 7);
    CHECK(root.member("n")->is(kind::null));
    CHECK(root.member("b")->is(kind::boolean));
    CHECK(root.member("i")->integer() == -12);
    CHECK(root.member("f")->is(kind::number));
    CHECK_FALSE(root.member("f")->integer());
    CHECK(root.member("s")->string() == "a\xc3\xa9\n");
    CHECK(root.member("a")->size() == 3);
    CHECK_FALSE(root.member("missing"));
    CHECK_FALSE(root.member("s")->member("x"));
    std::vector<kind> kinds;
    root.member("a")->each_element([&](value v) { kinds.push_back(v.kind()); });
    CHECK(kinds == std::vector{kind::number, kind::string, kind::array});
    root.each_element([](value) { FAIL("an object has no elements"); });
    std::string names;
    root.each_member([&](std::string_view name, value v) {
        names += name;
        CHECK(v.kind() == root.member(name)->kind());
    });
    CHECK(names == "nbifsao");
    root.member("a")->each_member([](std::string_view, value) { FAIL("an array has no members"); });
}

TEST_CASE("text is kept but for white space") {
    CHECK(text_of(" {\"b\" : [ 1 , 2.50, -0, 12345678901234567890123 ] , \"a\" : \"\\u0041\"} ") ==
          R"({"b":[1,2.50,-0,12345678901234567890123],"a":"A"})");
    CHECK(text_of("[]") == "[]");
    CHECK(text_of("[{},[[]],null,false,true]") == "[{},[[]],null,false,true]");
    CHECK(text_of("\"x\"") == "\"x\"");
    CHECK(text_of("7") == "7");
}

TEST_CASE("the canonical text of two spellings is one") {
    CHECK(canonical(R"({"b":1,"a":{"y":[{"d":1,"c":2}],"x":2}})") ==
          R"({"a":{"x":2,"y":[{"c":2,"d":1}]},"b":1})");
    CHECK(canonical("{\"a\":\"\\u0062\"}") == canonical("{ \"a\" : \"b\" }"));
}

TEST_CASE("what is not JSON is refused") {
    const auto* const text =
        GENERATE("", " ", "{", "[1,]", "{\"a\":1,}", "nul", "\"a", "1 2", "01", "{\"a\" 1}", "'a'",
                 "\"\xff\"", "\"\xed\xa0\x80\"", "\"\\ud800\"", "\"a\nb\"", "NaN", "// x\n1",
                 "\xef\xbb\xbf"
                 "1");
    CAPTURE(text);
    CHECK_THROWS_AS(document::parse(text), parse_error);
}

TEST_CASE("integers are exact or none") {
    const auto integer = [](std::string_view text) {
        const document doc = document::parse(text);
        return doc.root().integer();
    };
    CHECK(integer("9223372036854775807") == 9223372036854775807);
    CHECK_FALSE(integer("9223372036854775808"));
    CHECK_FALSE(integer("1.0"));
    CHECK_FALSE(integer("1e2"));
    CHECK_FALSE(integer("\"1\""));
}

TEST_CASE("depth is bounded") {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    CHECK(text_of(nested(limits().depth_max)) == nested(limits().depth_max));
    CHECK_THROWS_AS(document::parse(nested(limits().depth_max + 1)), parse_error);
    CHECK_THROWS_AS(document::parse(std::string(1'000'000, '[')), parse_error);
    const std::string brackets = "\"\\\"" + std::string(1000, '[') + "\"";
    CHECK(text_of(brackets) == brackets);
}
