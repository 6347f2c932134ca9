#include <rota/json/write.hpp>

#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <rota/json/read.hpp>

using namespace rota::json;

namespace {

enum class written_color { red, green };
constexpr auto json_names(written_color) {
    return names<written_color>({{"red", written_color::red}, {"green", written_color::green}});
}

struct inner {
    std::optional<int> number;
    std::vector<std::string> words;
    bool operator==(const inner&) const = default;
    static constexpr auto json_members =
        members(member("number", &inner::number), member("words", &inner::words));
};

struct outer {
    std::string text;
    double half = 0.5;
    written_color shade = written_color::green;
    inner nested;
    std::map<std::string, inner> map;
    std::vector<std::optional<int>> list;
    raw more{"[1]"};
    bool operator==(const outer&) const = default;
    static constexpr auto json_members = members(
        member("text", &outer::text), member("half", &outer::half), member("shade", &outer::shade),
        member("nested", &outer::nested), member("map", &outer::map), member("list", &outer::list),
        member("more", &outer::more));
};

} // namespace

TEST_CASE("a struct is written with all that is in it, and reads back") {
    outer from;
    from.text = "a\"\n\xff";
    from.nested.words = {"x", ""};
    from.map["k"].number = 3;
    from.list = {1, std::nullopt};
    CHECK(to_text(from) == "{\"text\":\"a\\\"\\n\xef\xbf\xbd\",\"half\":0.5,\"shade\":\"green\","
                           "\"nested\":{\"words\":[\"x\",\"\"]},"
                           "\"map\":{\"k\":{\"number\":3,\"words\":[]}},"
                           "\"list\":[1,null],\"more\":[1]}");
    from.text = "plain";
    CHECK(read<outer>(to_text(from)) == from);
}

TEST_CASE("numbers that JSON has not are null, an enum without a name is no JSON") {
    CHECK(to_text(std::numeric_limits<double>::infinity()) == "null");
    CHECK(to_text(0.1) == "0.1");
    CHECK(to_text(true) == "true");
    CHECK(to_text("text") == "\"text\"");
    CHECK_THROWS_AS(to_text(static_cast<written_color>(7)), std::invalid_argument);
}
