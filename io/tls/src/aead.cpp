#include <rota/crypto/aead.hpp>

#include <limits>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>

#include "unsigned_bytes.hpp"

namespace rota::crypto {
namespace {

struct release {
    void operator()(EVP_CIPHER_CTX* state) const noexcept { EVP_CIPHER_CTX_free(state); }
};
using cipher_state = std::unique_ptr<EVP_CIPHER_CTX, release>;

void check_sealing(int done) {
    if (done != 1)
        throw std::runtime_error("OpenSSL cannot encrypt");
}

/// Looked up once.
const EVP_CIPHER* cipher() {
    static const EVP_CIPHER* const found = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
    return found != nullptr ? found : EVP_aes_256_gcm();
}

int size_of(std::string_view text) {
    if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::invalid_argument("a text of more than 2 GiB is not encrypted at once");
    return static_cast<int>(text.size());
}

/// Ready for the text.
cipher_state begin(std::string_view key, std::string_view nonce, std::string_view bound,
                   bool sealing) {
    if (key.size() != aead_key_bytes || nonce.size() != aead_nonce_bytes)
        throw std::invalid_argument("AES-256-GCM takes a key of 32 bytes and a nonce of 12");
    cipher_state state(EVP_CIPHER_CTX_new());
    check_sealing(state != nullptr ? 1 : 0);
    check_sealing(EVP_CipherInit_ex2(state.get(), cipher(), bytes_of(key), bytes_of(nonce),
                                     sealing ? 1 : 0, nullptr));
    int size = 0;
    if (!bound.empty())
        check_sealing(
            EVP_CipherUpdate(state.get(), nullptr, &size, bytes_of(bound), size_of(bound)));
    return state;
}

} // namespace

std::string aead_seal(std::string_view key, std::string_view nonce, std::string_view text,
                      std::string_view bound) {
    const cipher_state state = begin(key, nonce, bound, true);
    std::string sealed(text.size() + aead_tag_bytes, '\0');
    int size = 0;
    if (!text.empty())
        check_sealing(
            EVP_CipherUpdate(state.get(), bytes_of(sealed), &size, bytes_of(text), size_of(text)));
    check_sealing(EVP_CipherFinal_ex(state.get(), bytes_of(sealed, text.size()), &size));
    check_sealing(EVP_CIPHER_CTX_ctrl(state.get(), EVP_CTRL_AEAD_GET_TAG, aead_tag_bytes,
                                      bytes_of(sealed, text.size())));
    return sealed;
}

std::optional<std::string> aead_open(std::string_view key, std::string_view nonce,
                                     std::string_view sealed, std::string_view bound) {
    const cipher_state state = begin(key, nonce, bound, false);
    if (sealed.size() < aead_tag_bytes)
        return std::nullopt;
    const std::string_view coded = sealed.substr(0, sealed.size() - aead_tag_bytes);
    std::string tag(sealed.substr(coded.size()));
    std::string text(coded.size(), '\0');
    int size = 0;
    if (!coded.empty())
        check_sealing(
            EVP_CipherUpdate(state.get(), bytes_of(text), &size, bytes_of(coded), size_of(coded)));
    check_sealing(
        EVP_CIPHER_CTX_ctrl(state.get(), EVP_CTRL_AEAD_SET_TAG, aead_tag_bytes, bytes_of(tag)));
    unsigned char rest[EVP_MAX_BLOCK_LENGTH];
    if (EVP_CipherFinal_ex(state.get(), rest, &size) != 1)
        return std::nullopt;
    return text;
}

} // namespace rota::crypto
