#include "base64.hpp"

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {

TEST_CASE("Base64") {
    CHECK(decode_base64("") == "");
    CHECK(decode_base64("Zg==") == "f");
    CHECK(decode_base64("Zm8=") == "fo");
    CHECK(decode_base64("Zm9v") == "foo");
    CHECK(decode_base64("Zm9vYmFy") == "foobar");
    CHECK(decode_base64("/+8A") == std::string("\xff\xef\0", 3));
    for (const std::string_view wrong : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Zg==Zg==",
                                         "Zm9-", "Zm 9", "Zm9v\n", "=Zm9", "Z===", "Zg=a"})
        CHECK_FALSE(decode_base64(wrong));
}

} // namespace rota::http
