#include "ticket_keys.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "certificate.hpp"

namespace rota::io::tls {
namespace {

constexpr std::size_t keys_max = 16;

} // namespace

void ticket_keys::load(const std::string& path) {
    std::vector<key> fresh;
    if (!path.empty()) {
        const std::string bytes = read_file(path);
        if (bytes.empty() || bytes.size() % bytes_of_key != 0 ||
            bytes.size() > keys_max * bytes_of_key) {
            throw unusable_file(path + ": ticket keys have 80 bytes each, and there are 1 to "
                                       "16 of them");
        }
        for (std::size_t at = 0; at < bytes.size(); at += bytes_of_key) {
            key& each = fresh.emplace_back();
            std::memcpy(each.name.data(), &bytes[at], each.name.size());
            std::memcpy(each.hmac.data(), &bytes[at + 16], each.hmac.size());
            std::memcpy(each.aes.data(), &bytes[at + 48], each.aes.size());
        }
    }
    const std::lock_guard guard(lock_);
    if (path.empty() && own_)
        return;
    own_ = path.empty();
    keys_ = std::move(fresh);
}

/// With the lock. Throws std::runtime_error.
void ticket_keys::rotate() {
    const auto now = now_();
    if (!keys_.empty() && now < keys_.front().made + lifetime)
        return;
    key fresh{.name = {}, .aes = {}, .hmac = {}, .made = now};
    const bool random =
        RAND_bytes(fresh.name.data(), static_cast<int>(fresh.name.size())) == 1 &&
        RAND_priv_bytes(fresh.aes.data(), static_cast<int>(fresh.aes.size())) == 1 &&
        RAND_priv_bytes(fresh.hmac.data(), static_cast<int>(fresh.hmac.size())) == 1;
    require(random, "RAND_bytes");
    // What the one before has sealed last is good for so long.
    std::erase_if(keys_, [&](const key& k) { return now >= k.made + 2 * lifetime; });
    keys_.insert(keys_.begin(), fresh);
}

bool ticket_keys::use(const key& k, const unsigned char* iv, EVP_CIPHER_CTX* cipher,
                      EVP_MAC_CTX* mac, bool seal) {
    auto* const secret = const_cast<unsigned char*>(k.hmac.data()); // NOLINT: only read
    char digest[] = "SHA256";                                       // NOLINT: only read
    const std::array<OSSL_PARAM, 3> how{
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, secret, k.hmac.size()),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, k.aes.data(), iv, seal ? 1 : 0) ==
               1 &&
           EVP_MAC_CTX_set_params(mac, how.data()) == 1;
}

int ticket_keys::prepare(unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                         EVP_MAC_CTX* mac, bool seal) {
    const std::lock_guard guard(lock_);
    if (own_)
        rotate();
    if (seal) {
        const key& first = keys_.front();
        if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1)
            return -1;
        std::memcpy(name, first.name.data(), first.name.size());
        return use(first, iv, cipher, mac, true) ? 1 : -1;
    }
    const auto found = std::ranges::find_if(
        keys_, [&](const key& k) { return std::memcmp(k.name.data(), name, k.name.size()) == 0; });
    if (found == keys_.end())
        return 0;
    if (!use(*found, iv, cipher, mac, false))
        return -1;
    return found == keys_.begin() ? 1 : 2;
}

} // namespace rota::io::tls
