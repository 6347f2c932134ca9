#include <rota/crypto/aead.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <rota/crypto/digest.hpp>

namespace rota::crypto {
namespace {

const std::string key(32, 'k');
const std::string nonce(12, 'n');

TEST_CASE("AES-256-GCM of the examples of its specification") {
    const std::string zeros(32, '\0');
    const std::string_view none = std::string_view(zeros).substr(0, 12);
    CHECK(to_hex(aead_seal(zeros, none, "")) == "530f8afbc74536b9a963b4f1c4cb738b");
    CHECK(to_hex(aead_seal(zeros, none, std::string(16, '\0'))) ==
          "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919");
}

TEST_CASE("what was sealed is opened with the same key, nonce and bound text") {
    for (const std::string_view text : {"", "a", "sixteen bytes...", "more than a block of it"}) {
        const std::string sealed = aead_seal(key, nonce, text, "bound");
        CHECK(sealed.size() == text.size() + aead_tag_bytes);
        CHECK(aead_open(key, nonce, sealed, "bound") == text);
        CHECK_FALSE(aead_open(std::string(32, 'K'), nonce, sealed, "bound"));
        CHECK_FALSE(aead_open(key, std::string(12, 'N'), sealed, "bound"));
        CHECK_FALSE(aead_open(key, nonce, sealed, "Bound"));
        CHECK_FALSE(aead_open(key, nonce, sealed));
    }
}

TEST_CASE("nothing opens with a bit turned, a byte less or a byte more") {
    const std::string sealed = aead_seal(key, nonce, "a text", "bound");
    for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
        std::string turned = sealed;
        turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << bit % 8));
        CHECK_FALSE(aead_open(key, nonce, turned, "bound"));
    }
    for (std::size_t size = 0; size < sealed.size(); ++size)
        CHECK_FALSE(aead_open(key, nonce, std::string_view(sealed).substr(0, size), "bound"));
    CHECK_FALSE(aead_open(key, nonce, sealed + '\0', "bound"));
}

TEST_CASE("keys and nonces have their lengths") {
    CHECK_THROWS_AS(aead_seal("short", nonce, ""), std::invalid_argument);
    CHECK_THROWS_AS(aead_seal(key, "short", ""), std::invalid_argument);
    CHECK_THROWS_AS(aead_open(key + 'k', nonce, std::string(16, ' ')), std::invalid_argument);
    CHECK_THROWS_AS(aead_open(key, "", ""), std::invalid_argument);
}

} // namespace
} // namespace rota::crypto
