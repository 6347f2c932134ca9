#include <rota/crypto/digest.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

namespace rota::crypto {
namespace {

std::string bytes(std::size_t count, int value) {
    return std::string(count, static_cast<char>(value));
}

/// Bytes that count up from `first`.
std::string counting(std::size_t count, int first) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i)
        result += static_cast<char>(first + static_cast<int>(i));
    return result;
}

TEST_CASE("SHA-256 of the examples of FIPS 180") {
    CHECK(to_hex(sha256_of("")) ==
          "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(to_hex(sha256_of("abc")) ==
          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(to_hex(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("SHA-256 piece by piece is that of the whole") {
    const std::string text = counting(1'000, 0);
    for (const std::size_t step : {1U, 7U, 63U, 64U, 65U, 999U, 1'000U}) {
        sha256 made;
        for (std::size_t at = 0; at < text.size(); at += step)
            made.update(std::string_view(text).substr(at, step));
        CHECK(made.finish() == sha256_of(text));
    }
}

TEST_CASE("a finished SHA-256 begins anew, and moves") {
    sha256 made;
    made.update("abc");
    CHECK(made.finish() == sha256_of("abc"));
    CHECK(made.finish() == sha256_of(""));
    made.update("ab");
    sha256 moved = std::move(made);
    moved.update({});
    moved.update("c");
    CHECK(moved.finish() == sha256_of("abc"));
}

TEST_CASE("HMAC of the examples of RFC 4231") {
    CHECK(to_hex(hmac_sha256(bytes(20, 0x0b), "Hi There")) ==
          "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    CHECK(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    CHECK(to_hex(hmac_sha256(bytes(131, 0xaa),
                             "Test Using Larger Than Block-Size Key - Hash Key First")) ==
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("HMAC with nothing as a key, or of nothing") {
    const char* const expected = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
    CHECK(to_hex(hmac_sha256("", "")) == expected);
    CHECK(to_hex(hmac_sha256({}, {})) == expected);
}

TEST_CASE("HKDF of the examples of RFC 5869") {
    CHECK(to_hex(hkdf_sha256(bytes(22, 0x0b), counting(13, 0), counting(10, 0xf0), 42)) ==
          "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    CHECK(to_hex(hkdf_sha256(counting(80, 0), counting(80, 0x60), counting(80, 0xb0), 82)) ==
          "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c6"
          "5e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
    CHECK(to_hex(hkdf_sha256(bytes(22, 0x0b), {}, {}, 42)) ==
          "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST_CASE("HKDF gives up to 8160 bytes") {
    CHECK(hkdf_sha256("secret", "", "", 0).empty());
    const std::string most = hkdf_sha256("secret", "", "", 8'160);
    CHECK(most.size() == 8'160);
    CHECK(most.starts_with(hkdf_sha256("secret", "", "", 100)));
    CHECK_THROWS_AS(hkdf_sha256("secret", "", "", 8'161), std::invalid_argument);
}

TEST_CASE("bytes in hexadecimal") {
    CHECK(to_hex(std::string_view()).empty());
    CHECK(to_hex(std::string_view("\x00\x0f\xf0\xff", 4)) == "000ff0ff");
}

} // namespace
} // namespace rota::crypto
