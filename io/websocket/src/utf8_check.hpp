#pragma once

#include <cstdint>
#include <string_view>

namespace rota::http::ws {

/// Whether bytes that come piece by piece are UTF-8 (RFC 3629): neither overlong nor surrogates,
/// and nothing above U+10FFFF. A value.
class utf8_check {
public:
    /// Takes the next bytes. False from the first byte on that nothing can make valid any more.
    [[nodiscard]] bool take(std::string_view bytes) noexcept;
    /// Whether what was taken ends with a whole character.
    [[nodiscard]] bool complete() const noexcept { return left_ == 0; }
    void reset() noexcept { *this = utf8_check(); }

private:
    [[nodiscard]] bool begin(unsigned char byte) noexcept;

    std::uint8_t left_ = 0; // bytes that the character lacks; 0xff: what came was invalid
    // What the next byte of it has to be: for the second one not all are allowed.
    std::uint8_t least_ = 0x80;
    std::uint8_t most_ = 0xbf;
};

} // namespace rota::http::ws
