#include "masking.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>

namespace rota::http::ws {
namespace {

TEST_CASE("a mask is taken off wherever in the payload the piece begins") {
    constexpr mask_key key{'\x01', '\xff', '\x80', '\x33'};
    std::string plain;
    for (int i = 0; i < 100; ++i)
        plain += static_cast<char>(7 * i);
    std::string masked = plain;
    for (std::size_t i = 0; i < masked.size(); ++i)
        masked[i] = static_cast<char>(masked[i] ^ key[i % 4]);
    for (std::size_t begin = 0; begin < 20; ++begin) {
        for (std::size_t end = begin; end <= plain.size(); ++end) {
            std::string piece = masked.substr(begin, end - begin);
            apply_mask(piece, piece.data(), key, begin); // in place
            REQUIRE(piece == plain.substr(begin, end - begin));
        }
    }
}

} // namespace
} // namespace rota::http::ws
