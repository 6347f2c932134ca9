#include <rota/coding/format.hpp>

#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include "coders.hpp"

namespace rota::coding {

TEST_CASE("formats have the names that HTTP has") {
    CHECK(to_string(format::gzip) == "gzip");
    CHECK(to_string(format::zlib) == "zlib");
    CHECK(to_string(format::deflate) == "deflate");
    CHECK(to_string(format::br) == "br");
    CHECK(to_string(format::zstd) == "zstd");
}

TEST_CASE("what a build lacks is refused, what it has is made") {
    for (int i = 0; i < format_count; ++i) {
        const auto which = static_cast<format>(i);
        if (is_available(which)) {
            CHECK(make_encoder({.to = which})->to() == which);
            CHECK(make_decoder({.from = which})->from() == which);
        } else {
            CHECK_THROWS_AS(make_encoder({.to = which}), std::invalid_argument);
            CHECK_THROWS_AS(make_decoder({.from = which}), std::invalid_argument);
        }
    }
}

} // namespace rota::coding
