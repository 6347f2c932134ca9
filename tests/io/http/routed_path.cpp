#include "routed_path.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("paths are decoded, encoded slashes stand out") {
    std::string out = "leftover";
    decode_path("/a%20b%2fc/%2F+%25", out);
    CHECK(out == std::string("/a b\0c/\0+%", 10));
    decode_path("", out);
    CHECK(out.empty());
}

} // namespace
} // namespace rota::http
