#include "route_tree.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http::detail {
namespace {

TEST_CASE("patterns are taken apart") {
    const parsed_pattern pattern("/v1/{queue}//jobs/{rest...}");
    REQUIRE(pattern.segments.size() == 4);
    CHECK(pattern.segments[0].text == "v1");
    CHECK(pattern.segments[1].parameter);
    CHECK(pattern.segments[2].text.empty());
    CHECK(pattern.segments[3].text == "jobs");
    CHECK(pattern.wildcard);
    CHECK(pattern.parameters == std::vector<std::string>{"queue", "rest"});
    CHECK(parsed_pattern("").segments.empty());
    CHECK(parsed_pattern("/").segments.size() == 1);
    CHECK(parsed_pattern("/*").parameters == std::vector<std::string>{"*"});
    CHECK_THROWS_AS(parsed_pattern("a"), std::invalid_argument);
}

TEST_CASE("patterns that are no decoded path are refused") {
    for (const char* pattern : {"/a?b", "/a?", "/{id?}", "/a#b", "/%41", "/a%20b", "/a/%2f/b", "/.",
                                "/..", "/a/./b", "/../a", "/a/..", "/a/../{b...}"}) {
        CAPTURE(pattern);
        CHECK_THROWS_AS(parsed_pattern(pattern), std::invalid_argument);
    }
    for (const char* pattern :
         {"/100%", "/%4", "/%zz", "/a b", "/\xc3\xbc", "/...", "/.well-known/x", "/a..b/.c."}) {
        CAPTURE(pattern);
        CHECK_NOTHROW(parsed_pattern(pattern));
    }
}

TEST_CASE("children stay sorted and are found") {
    route_node root;
    for (std::string_view text : {"m", "a", "z", "", "mm", "b"})
        CHECK(root.child_or_new(text).text == text);
    CHECK(&root.child_or_new("a") == root.child("a"));
    CHECK(root.children.size() == 6);
    for (std::string_view text : {"m", "a", "z", "", "mm", "b"}) {
        REQUIRE(root.child(text) != nullptr);
        CHECK(root.child(text)->text == text);
    }
    CHECK(root.child("c") == nullptr);
    CHECK(root.child("zz") == nullptr);
}

TEST_CASE("a search that goes back leaves no values of the wrong way behind") {
    route_tree tree;
    route deep{"/{a}/{b}/x", method::get, nullptr, {}, {"a", "b"}};
    route rest{"/{all...}", method::get, nullptr, {}, {"all"}};
    tree.insert(deep);
    tree.insert(rest);
    route_match found;
    tree.find(method::get, "/1/2/y", found);
    REQUIRE(found.target == &rest);
    CHECK(found.values.values[0].offset == 1);
    CHECK(found.values.values[0].size == 5);
}

TEST_CASE("a text of its own is found at once, but not in the way of another method") {
    route_tree tree;
    route text{"/a/b", method::get, nullptr, {}, {}};
    route parameter{"/a/{x}", method::post, nullptr, {}, {"x"}};
    tree.insert(text);
    tree.insert(parameter);
    route_match found;
    tree.find(method::get, "/a/b", found);
    CHECK(found.target == &text);
    found = {};
    tree.find(method::post, "/a/b", found);
    CHECK(found.target == &parameter);
    found = {};
    tree.find(method::put, "/a/b", found);
    CHECK(found.target == nullptr);
    CHECK(found.allowed.to_string() == "GET, POST");
}

} // namespace
} // namespace rota::http::detail
