#include <rota/crypto/base64url.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::crypto {
namespace {

TEST_CASE("the examples of RFC 4648") {
    const std::string_view text = "foobar";
    const std::string_view coded[] = {"", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"};
    for (std::size_t size = 0; size <= text.size(); ++size) {
        CHECK(to_base64url(text.substr(0, size)) == coded[size]);
        CHECK(from_base64url(coded[size]) == text.substr(0, size));
    }
}

TEST_CASE("any bytes, there and back") {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) {
        bytes += static_cast<char>(byte);
        CHECK(from_base64url(to_base64url(bytes)) == bytes);
    }
    CHECK(to_base64url("\xfb\xff\xfe") == "-__-");
}

TEST_CASE("what is not written so is not read") {
    for (const char* const text : {"Z", "Zg=", "Zg==", "Zh", "Zm9", "Zm9vY", "Zm+v", "Zm/v",
                                   "Zm9v ", " Zm9v", "Zm\n9v", "\xc3\xa4"})
        CHECK_FALSE(from_base64url(text));
    CHECK_FALSE(from_base64url(std::string_view("Zm9\0", 4)));
}

} // namespace
} // namespace rota::crypto
