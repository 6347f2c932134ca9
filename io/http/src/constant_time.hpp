#pragma once

#include <string_view>

namespace rota::http {

/// As rota/crypto/secret.hpp has it for programs with OpenSSL, which this room does not see. 0 if
/// they are the same. Takes as long as `given` is, whatever is found: how far a guess is right is
/// not to be timed.
[[nodiscard]] inline unsigned difference(std::string_view secret, std::string_view given) noexcept {
    auto differs = static_cast<unsigned>(secret.size() != given.size());
    std::size_t at = 0;
    for (const char c : given) {
        const char other = secret.empty() ? '\0' : secret[at];
        differs |= static_cast<unsigned>(static_cast<unsigned char>(c ^ other));
        at = at + 1 >= secret.size() ? 0 : at + 1;
        asm volatile("" : "+r"(differs)); // or the compiler may end the loop at a difference
    }
    return differs;
}

} // namespace rota::http
