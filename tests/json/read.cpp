#include <rota/json/read.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace rota::json;

namespace {

enum class read_color { red, green };
constexpr auto json_names(read_color) {
    return names<read_color>({{"red", read_color::red}, {"green", read_color::green}});
}

struct item {
    std::string name;
    int count = 7;
    std::optional<double> weight;
    read_color shade = read_color::red;

    static constexpr auto json_members = members(
        member("name", &item::name, length(1, 5)),
        optional_member("count", &item::count, between(1, 100)),
        member("weight", &item::weight, between(0, 10)), optional_member("shade", &item::shade));
};

struct order {
    std::vector<item> items;
    std::map<std::string, std::int8_t> labels;
    bool paid = false;
    raw more;

    static constexpr auto json_members =
        members(member("items", &order::items), optional_member("labels", &order::labels),
                optional_member("paid", &order::paid), optional_member("more", &order::more));
};

struct tree {
    std::vector<tree> children;
    static constexpr auto json_members = members(optional_member("children", &tree::children));
};

std::string no_spaces(const std::string& text) {
    return text.find(' ') == std::string::npos ? "" : "a name without spaces";
}

struct named {
    std::string name;
    static constexpr auto json_members = members(member("name", &named::name, &no_spaces));
};

/// What is wrong with it.
template <class T>
std::string wrong(std::string_view text, const read_options& how = {}) {
    try {
        (void)read<T>(text, how);
    } catch (const read_error& e) {
        return e.what();
    } catch (const parse_error& e) {
        return std::string("no JSON: ") + e.what();
    }
    return "nothing";
}

} // namespace

TEST_CASE("a struct is read with all that is in it") {
    const auto found = read<order>(R"({
        "items": [{"name": "a\u00e4", "count": 3, "weight": 1.5, "shade": "green"}, {"name": "b"}],
        "labels": {"x y": -128, "z": 127}, "paid": true, "more": {"any": [1, 2.50]}, "other": 1})");
    REQUIRE(found.items.size() == 2);
    CHECK(found.items[0].name == "a\xc3\xa4");
    CHECK(found.items[0].count == 3);
    CHECK(found.items[0].weight == 1.5);
    CHECK(found.items[0].shade == read_color::green);
    CHECK(found.items[1].count == 7);
    CHECK_FALSE(found.items[1].weight);
    CHECK(found.labels == std::map<std::string, std::int8_t>{{"x y", -128}, {"z", 127}});
    CHECK(found.paid);
    CHECK(found.more.text == R"({"any":[1,2.50]})");
}

TEST_CASE("what is wrong is told with its place, what was expected and what came") {
    CHECK(wrong<order>(R"({"items":[{"name":"a"},{"name":12}]})") ==
          "items[1].name: expected a string, got 12");
    CHECK(wrong<order>(R"({"items":[{"name":"a","count":"3"}]})") ==
          "items[0].count: expected an integer from -2147483648 to 2147483647, got \"3\"");
    CHECK(wrong<order>(R"({"items":[{"name":"a","count":1.0}]})").ends_with("got 1.0"));
    CHECK(wrong<order>(R"({"items":[{"name":"a","count":0}]})") ==
          "items[0].count: expected a number from 1 to 100, got 0");
    CHECK(wrong<order>(R"({"items":[{"name":""}]})") ==
          "items[0].name: expected 1 to 5 characters, got \"\"");
    CHECK(wrong<order>(R"({"items":[{"name":"a","weight":11}]})") ==
          "items[0].weight: expected a number from 0 to 10, got 11");
    CHECK(wrong<order>(R"({"items":[{"name":"a","weight":null}]})") == "nothing");
    CHECK(wrong<order>(R"({"items":[{"name":"a","weight":1e999}]})") ==
          "items[0].weight: expected a number within the range of a double, got 1e999");
    CHECK(wrong<order>(R"({"items":[{"name":"a","weight":"1"}]})") ==
          "items[0].weight: expected a number, got \"1\"");
    CHECK(wrong<order>(R"({"items":[{"name":"a","shade":"blue"}]})") ==
          "items[0].shade: expected one of \"red\", \"green\", got \"blue\"");
    CHECK(wrong<order>(R"({"items":[{"name":"a","shade":0}]})").ends_with("got 0"));
    CHECK(wrong<order>(R"({"items":[{}]})") == "items[0].name: is missing");
    CHECK(wrong<order>(R"({"items":{}})") == "items: expected an array, got an object");
    CHECK(wrong<order>(R"({"items":[null]})") == "items[0]: expected an object, got null");
    CHECK(wrong<order>(R"({"items":[],"paid":1})") == "paid: expected a boolean, got 1");
    CHECK(wrong<order>(R"({"items":[],"labels":{"x y":128}})") ==
          "labels[\"x y\"]: expected an integer from -128 to 127, got 128");
    CHECK(wrong<order>(R"({"items":[],"labels":{"a":1,"a":2}})") == "labels.a: is there twice");
    CHECK(wrong<order>(R"({"items":[],"items":[]})") == "items: is there twice");
    CHECK(wrong<order>("[]") == "expected an object, got an array");
    CHECK(wrong<named>(R"({"name":"a b"})") == "name: expected a name without spaces, got \"a b\"");
    CHECK(wrong<order>("{").starts_with("no JSON: "));
    CHECK(wrong<order>("").starts_with("no JSON: "));
}

TEST_CASE("a number that its type cannot hold is refused, and is a number all the same") {
    for (const char* text : {"1e39", "3.5e38", "-1e300", "1e999", "1e-999"}) {
        CAPTURE(text);
        CHECK(wrong<float>(text) ==
              "expected a number within the range of a float, got " + std::string(text));
    }
    CHECK(wrong<double>("1e-999") == "expected a number within the range of a double, got 1e-999");
    CHECK(wrong<float>("null") == "expected a number, got null");
    CHECK(read<float>("3.4028235e38") == std::numeric_limits<float>::max());
    CHECK(read<float>("-0.1") == -0.1F);
    CHECK(read<float>("7") == 7);
}

TEST_CASE("members that are not known are skipped, or refused") {
    const read_options strict{.refuse_unknown = true};
    CHECK(wrong<order>(R"({"items":[],"x":1})") == "nothing");
    CHECK(wrong<order>(R"({"items":[],"x":1})", strict) == "x: is not known");
    CHECK(wrong<order>(R"({"items":[{"name":"a","x":1}]})", strict) == "items[0].x: is not known");
}

TEST_CASE("what came is bounded and escaped, and so is where") {
    const std::string long_text(10'000, 'x');
    CHECK(wrong<order>("{\"items\":\"" + long_text + "\"}") ==
          "items: expected an array, got \"" + std::string(40, 'x') + "\"...");
    CHECK(wrong<order>("{\"items\":" + std::string(10'000, '1') + "}").size() < 100);
    CHECK(wrong<order>(R"({"items":"a\r\n\u0000\"b"})") ==
          "items: expected an array, got \"a\\r\\n\\u0000\\\"b\"");
    CHECK(wrong<order>("{\"items\":[],\"labels\":{\"" + long_text + "\":false}}").size() < 200);
    std::string deep = "1";
    for (int i = 0; i < 45; ++i)
        deep = R"({"children":[)" + deep + "]}";
    const std::string told = wrong<tree>(deep);
    CHECK(told.size() < 300);
    CHECK(told.ends_with("children[0].children[0]: expected an object, got 1"));
}

TEST_CASE("depth and size have limits") {
    std::string deep;
    for (int i = 0; i < 60; ++i)
        deep = "{\"children\":[" + deep + "]}";
    CHECK(wrong<tree>(deep).starts_with("no JSON: values are nested more than 100 deep"));
    CHECK(wrong<tree>("{\"children\":[{\"children\":[]}]}", {.limits = {.depth_max = 4}}) ==
          "nothing");
    CHECK(wrong<tree>("{\"children\":[{\"children\":[]}]}", {.limits = {.depth_max = 3}}) ==
          "no JSON: values are nested more than 3 deep");
    CHECK(wrong<tree>("{}  ", {.limits = {.bytes_max = 3}}) == "no JSON: it has more than 3 bytes");
}

TEST_CASE("integers are read to their ends") {
    CHECK(read<std::uint64_t>("18446744073709551615") == 18'446'744'073'709'551'615U);
    CHECK(wrong<std::uint64_t>("18446744073709551616").ends_with("got 18446744073709551616"));
    CHECK(wrong<std::uint64_t>("-1").ends_with("got -1"));
    CHECK(read<std::int64_t>("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
    CHECK(read<std::vector<bool>>("[true,false]") == std::vector<bool>{true, false});
    CHECK(read<std::optional<int>>("null") == std::nullopt);
    CHECK(read<float>("-0.5e1") == -5.0F);
}
