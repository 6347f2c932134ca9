#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

extern "C" {
struct evp_md_ctx_st; // OpenSSL's EVP_MD_CTX
}

namespace rota::crypto {

// Digests and what is made of them. For any thread unless said otherwise; all of them throw
// std::runtime_error if OpenSSL fails, which means that memory is short.

/// The result of SHA-256.
using digest = std::array<std::uint8_t, 32>;

/// SHA-256 (FIPS 180-4) of bytes that come piece by piece. Moves; used by one thread at a time.
class sha256 {
public:
    sha256();

    void update(std::string_view bytes);
    /// Returns the digest of all that came since the last call, or the beginning; then begins anew.
    [[nodiscard]] digest finish();

private:
    struct release {
        void operator()(evp_md_ctx_st* state) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, release> state_;
};

/// Returns the SHA-256 of a whole text.
[[nodiscard]] digest sha256_of(std::string_view bytes);

/// Returns the HMAC (RFC 2104) with SHA-256; a key of any length.
[[nodiscard]] digest hmac_sha256(std::string_view key, std::string_view bytes);

/// Returns, by HKDF (RFC 5869) with SHA-256, `size` bytes made of a secret, others for each `salt`
/// and `info`. Throws std::invalid_argument for more than 8,160.
[[nodiscard]] std::string hkdf_sha256(std::string_view secret, std::string_view salt,
                                      std::string_view info, std::size_t size);

/// Returns "5f2a…": two lower-case digits a byte.
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(const digest& bytes);

/// Returns the bytes of a digest; valid as long as it is.
[[nodiscard]] inline std::string_view view(const digest& bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace rota::crypto
