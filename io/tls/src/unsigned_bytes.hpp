#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rota::crypto {

// As OpenSSL takes them.
inline const unsigned char* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* bytes_of(std::string& text, std::size_t from = 0) noexcept {
    return reinterpret_cast<unsigned char*>(text.data()) + from;
}

} // namespace rota::crypto
