#include <rota/crypto/secret.hpp>

#include <limits>
#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/rand.h>

namespace rota::crypto {

std::string random_bytes(std::size_t size) {
    std::string result(size, '\0');
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
        RAND_bytes(reinterpret_cast<unsigned char*>(result.data()), static_cast<int>(size)) != 1)
        throw std::runtime_error("OpenSSL has no random bytes");
    return result;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void wipe(std::string& secret) noexcept {
    secret.resize(secret.capacity()); // what it held before it was cut, too
    OPENSSL_cleanse(secret.data(), secret.size());
    secret.clear();
}

} // namespace rota::crypto
