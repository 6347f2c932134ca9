#include <rota/crypto/base64url.hpp>

#include <array>
#include <cstdint>

namespace rota::crypto {
namespace {

constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<std::int8_t, 256> make_values() {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < letters.size(); ++i)
        values[static_cast<unsigned char>(letters[i])] = static_cast<std::int8_t>(i);
    return values;
}
constexpr std::array<std::int8_t, 256> values = make_values();

} // namespace

std::string to_base64url(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() * 4 + 2) / 3);
    std::uint32_t held = 0;
    unsigned bits = 0;
    for (const char byte : bytes) {
        held = held << 8 | static_cast<unsigned char>(byte);
        for (bits += 8; bits >= 6; bits -= 6)
            text += letters[held >> (bits - 6) & 63];
    }
    if (bits > 0)
        text += letters[held << (6 - bits) & 63];
    return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t held = 0;
    unsigned bits = 0;
    for (const char letter : text) {
        const std::int8_t value = values[static_cast<unsigned char>(letter)];
        if (value < 0)
            return std::nullopt;
        held = held << 6 | static_cast<std::uint32_t>(value);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>(held >> bits);
        }
    }
    // A letter too many, or bits that are for nothing: two texts would be the same bytes.
    if (bits >= 6 || (held & ((1U << bits) - 1)) != 0)
        return std::nullopt;
    return bytes;
}

} // namespace rota::crypto
