#include "sha1.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>

namespace rota::http::ws {
namespace {

std::string hex(std::string_view text) {
    std::string out;
    for (const unsigned char byte : sha1(text)) {
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

TEST_CASE("SHA-1 of the examples of FIPS 180") {
    CHECK(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    CHECK(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d");
    CHECK(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    CHECK(hex(std::string(1'000'000, 'a')) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_CASE("SHA-1 around the ends of blocks") {
    CHECK(hex(std::string(55, 'x')) == "cef734ba81a024479e09eb5a75b6ddae62e6abf1");
    CHECK(hex(std::string(56, 'x')) == "901305367c259952f4e7af8323f480d59f81335b");
    CHECK(hex(std::string(64, 'x')) == "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163");
}

} // namespace
} // namespace rota::http::ws
