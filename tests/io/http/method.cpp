#include <rota/http/method.hpp>

#include <cstddef>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("methods have names, and names are case-sensitive") {
    for (std::size_t i = 0; i < method_count; ++i) {
        const auto m = static_cast<method>(i);
        CHECK(parse_method(to_string(m)) == m);
    }
    CHECK(to_string(method::delete_) == "DELETE");
    CHECK(to_string(method::other) == "_OTHER");
    for (std::string_view name : {"", "get", "GETT", "GE", "PRI", "DELETE_", "_OTHER"}) {
        CAPTURE(name);
        CHECK_FALSE(parse_method(name));
    }
}

} // namespace
} // namespace rota::http
