#include <rota/crypto/digest.hpp>

#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "unsigned_bytes.hpp"

namespace rota::crypto {
namespace {

constexpr std::size_t hkdf_bytes_max = 255 * 32;

void check_digest(int done) {
    if (done != 1)
        throw std::runtime_error("OpenSSL cannot compute a digest");
}

/// Looked up once: OpenSSL 3 takes longer for that than for the digest of a short text.
const EVP_MD* hash_function() {
    static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return found != nullptr ? found : EVP_sha256();
}

} // namespace

void sha256::release::operator()(evp_md_ctx_st* state) const noexcept { EVP_MD_CTX_free(state); }

sha256::sha256() : state_(EVP_MD_CTX_new()) {
    check_digest(state_ != nullptr ? EVP_DigestInit_ex2(state_.get(), hash_function(), nullptr)
                                   : 0);
}

void sha256::update(std::string_view bytes) {
    check_digest(EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()));
}

digest sha256::finish() {
    digest result{};
    check_digest(EVP_DigestFinal_ex(state_.get(), result.data(), nullptr));
    check_digest(EVP_DigestInit_ex2(state_.get(), nullptr, nullptr));
    return result;
}

digest sha256_of(std::string_view bytes) {
    digest result{};
    check_digest(
        EVP_Digest(bytes.data(), bytes.size(), result.data(), nullptr, hash_function(), nullptr));
    return result;
}

digest hmac_sha256(std::string_view key, std::string_view bytes) {
    digest result{};
    // A null key would be that of a call before.
    const std::string_view safe = key.data() != nullptr ? key : std::string_view("");
    const auto* const done = HMAC(hash_function(), safe.data(), static_cast<int>(safe.size()),
                                  bytes_of(bytes), bytes.size(), result.data(), nullptr);
    check_digest(done != nullptr ? 1 : 0);
    return result;
}

std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view info,
                        std::size_t size) {
    if (size > hkdf_bytes_max)
        throw std::invalid_argument("HKDF gives at most 8160 bytes");
    std::string result;
    const digest key = hmac_sha256(salt, secret); // no salt is one of zeros, as an empty key is
    std::string block;
    for (unsigned count = 1; result.size() < size; ++count) {
        block.append(info).push_back(static_cast<char>(count));
        const digest next = hmac_sha256(view(key), block);
        block.assign(view(next));
        result.append(block, 0, size - result.size());
    }
    return result;
}

std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += digits[value >> 4];
        text += digits[value & 15];
    }
    return text;
}

std::string to_hex(const digest& bytes) { return to_hex(view(bytes)); }

} // namespace rota::crypto
