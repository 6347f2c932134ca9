#include <rota/crypto/secret.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>

namespace rota::crypto {
namespace {

TEST_CASE("random bytes are as many as were asked for, and others each time") {
    CHECK(random_bytes(0).empty());
    CHECK(random_bytes(1).size() == 1);
    CHECK(random_bytes(32).size() == 32);
    CHECK(random_bytes(32) != random_bytes(32));
}

TEST_CASE("texts are equal or not") {
    CHECK(equal_in_constant_time("", ""));
    CHECK(equal_in_constant_time({}, ""));
    CHECK(equal_in_constant_time("secret", std::string("secret")));
    CHECK_FALSE(equal_in_constant_time("secret", "secreT"));
    CHECK_FALSE(equal_in_constant_time("secret", "Secret"));
    CHECK_FALSE(equal_in_constant_time("secret", "secret "));
    CHECK_FALSE(equal_in_constant_time("secret", ""));
}

TEST_CASE("a wiped secret is empty, and so is what it was") {
    std::string secret = "a secret that is longer than what a string holds within itself";
    secret.resize(50);
    const char* const where = secret.data();
    wipe(secret);
    CHECK(secret.empty());
    CHECK(secret.data() == where); // its memory is still there
    CHECK(std::string(where, 60) == std::string(60, '\0'));
    wipe(secret);
    CHECK(secret.empty());
}

} // namespace
} // namespace rota::crypto
