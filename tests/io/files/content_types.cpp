#include "content_types.hpp"

#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "tree.hpp"

namespace rota::http {
namespace {

TEST_CASE("what is behind the last dot says the type, and text is UTF-8") {
    const content_types types({}, "");
    CHECK(types.of("a.html") == "text/html; charset=utf-8");
    CHECK(types.of("a/b.min.JS") == "text/javascript; charset=utf-8");
    CHECK(types.of("a.css") == "text/css; charset=utf-8");
    CHECK(types.of("a.json") == "application/json");
    CHECK(types.of("a.png") == "image/png");
    CHECK(types.of("a.svg") == "image/svg+xml");
    CHECK(types.of("a.wasm") == "application/wasm");
    CHECK(types.of("a.tar.gz") == "application/gzip");
    CHECK(types.of("a.svgz") == "image/svg+xml");
    CHECK(types.coding_of("b/a.SVGZ") == "gzip");
    for (std::string_view path : {"a.svg", "a.gz", "svgz", ".svgz"})
        CHECK(types.coding_of(path).empty());
    CHECK(content_types({{"svgz", "application/gzip"}}, "").coding_of("a.svgz").empty());
    for (std::string_view path : {"a", "a.", "a.html/b", ".html", "a/.html", "a.nothing"})
        CHECK(types.of(path) == "application/octet-stream");
}

TEST_CASE("own types come first, those of a file last") {
    const test::tree files;
    files.put("types", "# a comment\n"
                       "text/x-own\town xown # behind\n"
                       "application/x-html html\n"
                       "text/x-linguist ts\n"
                       "nonsense nope\n"
                       "\n"
                       "video/none\n"
                       "application/x-far\t\tfar\r\n");
    const content_types types({{"PNG", "image/mine"}, {"md", "text/plain;charset=ascii"}},
                              files.at("types"));
    CHECK(types.of("a.png") == "image/mine");
    CHECK(types.of("a.md") == "text/plain;charset=ascii");
    CHECK(types.of("a.own") == "text/x-own; charset=utf-8");
    CHECK(types.of("a.xown") == "text/x-own; charset=utf-8");
    CHECK(types.of("a.html") == "text/html; charset=utf-8");
    CHECK(types.of("a.ts") == "video/mp2t");
    CHECK(types.of("a.far") == "application/x-far");
    CHECK(types.of("a.nope") == "application/octet-stream");
    CHECK(content_types({}, files.at("not there")).of("a.txt") == "text/plain; charset=utf-8");
    CHECK_THROWS_AS(content_types({{"a", "b\r\nc"}}, ""), std::invalid_argument);
    CHECK_THROWS_AS(content_types({{"a", "text"}}, ""), std::invalid_argument);
}

} // namespace
} // namespace rota::http
