#include <rota/http/error.hpp>

#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("an http_error carries its answer") {
    try {
        throw http_error(409, "taken");
    } catch (const std::exception& error) {
        CHECK(std::string_view(error.what()) == "taken");
        CHECK(dynamic_cast<const http_error&>(error).status() == 409);
    }
}

} // namespace
} // namespace rota::http
