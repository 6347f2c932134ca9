#pragma once

#include <string_view>

namespace rota::http {

/// A string literal, or other text that the compiler can see is static. A NUL follows it.
struct literal {
    // NOLINTNEXTLINE(google-explicit-constructor): meant for literals as arguments
    consteval literal(const char* chars) : text(chars) {}
    std::string_view text;
};

} // namespace rota::http
