#pragma once

#include <string>

namespace rota::detail {

/// The digit of the lowest four bits.
[[nodiscard]] constexpr char hex_digit(unsigned value) noexcept {
    return "0123456789abcdef"[value & 15U];
}

/// Appends the two digits of a byte.
inline void append_hex(std::string& to, unsigned char byte) {
    to.append(1, hex_digit(byte >> 4U)).append(1, hex_digit(byte));
}

} // namespace rota::detail
