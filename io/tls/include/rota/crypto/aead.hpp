#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rota::crypto {

// AES-256-GCM (NIST SP 800-38D): texts that nobody reads or changes without the key. For any
// thread. Throw std::invalid_argument for a key or nonce of another length, std::runtime_error if
// OpenSSL fails.

inline constexpr std::size_t aead_key_bytes = 32;
inline constexpr std::size_t aead_nonce_bytes = 12;
/// Bytes that sealing adds.
inline constexpr std::size_t aead_tag_bytes = 16;

/// Returns the text, encrypted, and its tag. `bound` is not in it, but has to be the same for
/// opening it. No nonce may come twice with one key: both texts would be open. By chance it does
/// not within 2^32 texts; `seal` (seal.hpp) makes a key for each text.
[[nodiscard]] std::string aead_seal(std::string_view key, std::string_view nonce,
                                    std::string_view text, std::string_view bound = {});

/// Returns what was sealed; nothing if it was not, or with another key, nonce or `bound`.
[[nodiscard]] std::optional<std::string> aead_open(std::string_view key, std::string_view nonce,
                                                   std::string_view sealed,
                                                   std::string_view bound = {});

} // namespace rota::crypto
