#include "utf8_check.hpp"

#include <cstddef>
#include <cstring>

namespace rota::http::ws {
namespace {

constexpr std::uint8_t invalid = 0xff;

/// How many of the first bytes are ASCII, rounded down to eights.
std::size_t ascii_prefix(std::string_view bytes) noexcept {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    std::size_t done = 0;
    for (; bytes.size() - done >= sizeof high_bits; done += sizeof high_bits) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, bytes.data() + done, sizeof eight);
        if ((eight & high_bits) != 0)
            break;
    }
    return done;
}

} // namespace

/// The first byte of a character (RFC 3629 section 4).
bool utf8_check::begin(unsigned char byte) noexcept {
    if (byte < 0x80)
        return true;
    least_ = 0x80;
    most_ = 0xbf;
    if (byte >= 0xc2 && byte <= 0xdf) {
        left_ = 1;
    } else if (byte >= 0xe0 && byte <= 0xef) {
        left_ = 2;
        if (byte == 0xe0)
            least_ = 0xa0; // else it would be overlong
        else if (byte == 0xed)
            most_ = 0x9f; // else it would be a surrogate
    } else if (byte >= 0xf0 && byte <= 0xf4) {
        left_ = 3;
        if (byte == 0xf0)
            least_ = 0x90;
        else if (byte == 0xf4)
            most_ = 0x8f; // else it would be above U+10FFFF
    } else {
        left_ = invalid;
        return false;
    }
    return true;
}

bool utf8_check::take(std::string_view bytes) noexcept {
    if (left_ == invalid)
        return false;
    std::size_t i = 0;
    while (i < bytes.size()) {
        if (left_ == 0) {
            i += ascii_prefix(bytes.substr(i));
            if (i == bytes.size())
                return true;
        }
        const auto byte = static_cast<unsigned char>(bytes[i++]);
        if (left_ == 0) {
            if (!begin(byte))
                return false;
            continue;
        }
        if (byte < least_ || byte > most_) {
            left_ = invalid;
            return false;
        }
        least_ = 0x80;
        most_ = 0xbf;
        --left_;
    }
    return true;
}

} // namespace rota::http::ws
