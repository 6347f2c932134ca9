#include "route_scopes.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http::detail {
namespace {

TEST_CASE("what is under a prefix") {
    struct expectation {
        std::string_view prefix;
        std::string_view path;
        bool under;
        std::vector<std::string_view> values;
    };
    constexpr std::string_view encoded("/v1\0x/a", 7); // what request::prepare_path() makes of %2F
    const std::vector<expectation> table{
        {"", "/", true, {}},
        {"", "/a/b", true, {}},
        {"", "", true, {}},
        {"/v1", "/v1", true, {}},
        {"/v1", "/v1/", true, {}},
        {"/v1", "/v1/a/b", true, {}},
        {"/v1", "/v1x", false, {}},
        {"/v1", "/v", false, {}},
        {"/v1", "/", false, {}},
        {"/v1", "", false, {}},
        {"/v1", "//v1", false, {}},
        {"/v1", "/a/v1", false, {}},
        {"/v1", encoded, false, {}},
        {"/a/b", "/a/b", true, {}},
        {"/a/b", "/a", false, {}},
        {"/a/b", "/a/", false, {}},
        {"/a/b", "/a/c", false, {}},
        {"//b", "//b/", true, {}},
        {"/{x}", "/a", true, {"a"}},
        {"/{x}", "/a/b", true, {"a"}},
        {"/{x}", encoded, true, {encoded.substr(1, 4)}},
        {"/{x}", "/", false, {}},
        {"/{x}", "//a", false, {}},
        {"/a/{x}/c/{y}", "/a/b/c/d/e", true, {"b", "d"}},
        {"/a/{x}/c/{y}", "/a/b/c/", false, {}},
        {"/a/{x}/c/{y}", "/a/b/x/d", false, {}},
    };
    for (const auto& row : table) {
        CAPTURE(row.prefix, row.path);
        route_values found;
        CHECK(is_under(row.path, row.prefix, found) == row.under);
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const text_span value = found.values[i];
            CHECK(row.path.substr(value.offset, value.size) == row.values[i]);
        }
    }
}

TEST_CASE("the longer prefix comes first, then text before parameters from the left") {
    const std::vector<std::string_view> in_order{"/a/b/c",       "/a/b/{x}", "/a/{x}/c", "/{x}/b/c",
                                                 "/{x}/{y}/{z}", "/a/b",     "/{x}/b",   "/a",
                                                 "/{x}",         ""};
    for (std::size_t i = 0; i < in_order.size(); ++i) {
        for (std::size_t j = 0; j < in_order.size(); ++j) {
            CAPTURE(in_order[i], in_order[j]);
            CHECK(is_before(in_order[i], in_order[j]) == (i < j));
        }
    }
    CHECK_FALSE(is_before("/a/{x}", "/b/{y}"));
    CHECK_FALSE(is_before("/b/{y}", "/a/{x}"));
}

} // namespace
} // namespace rota::http::detail
