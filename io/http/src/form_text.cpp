#include "form_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <rota/http/fields.hpp>
#include <rota/http/percent.hpp>

namespace rota::http {
namespace {

/// What the bytes from 0x80 to 0x9f are in windows-1252.
constexpr std::array<std::uint16_t, 32> upper{
    0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x008d, 0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
};

/// How many bytes follow a lead byte, and what the first of them may be; none for what is no lead.
struct following {
    std::size_t count;
    unsigned char low;
    unsigned char high;
};

std::optional<following> after(unsigned char lead) noexcept {
    if (lead < 0x80)
        return following{0, 0, 0};
    if (lead >= 0xc2 && lead <= 0xdf)
        return following{1, 0x80, 0xbf};
    if (lead >= 0xe0 && lead <= 0xef) {
        return following{2, static_cast<unsigned char>(lead == 0xe0 ? 0xa0 : 0x80),
                         static_cast<unsigned char>(lead == 0xed ? 0x9f : 0xbf)};
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        return following{3, static_cast<unsigned char>(lead == 0xf0 ? 0x90 : 0x80),
                         static_cast<unsigned char>(lead == 0xf4 ? 0x8f : 0xbf)};
    }
    return std::nullopt;
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto more = after(byte(i));
        if (!more || more->count >= text.size() - i)
            return false;
        for (std::size_t n = 1; n <= more->count; ++n) {
            const unsigned char next = byte(i + n);
            if (next < (n == 1 ? more->low : 0x80) || next > (n == 1 ? more->high : 0xbf))
                return false;
        }
        i += more->count;
    }
    return true;
}

std::string html_unescaped(std::string_view text) {
    std::string plain;
    plain.reserve(text.size());
    while (!text.empty()) {
        const std::string_view escape = text.substr(0, 3);
        const char byte = escape == "%22"                  ? '"'
                          : fields::iequals(escape, "%0d") ? '\r'
                          : fields::iequals(escape, "%0a") ? '\n'
                                                           : '\0';
        plain += byte != '\0' ? byte : text.front();
        text.remove_prefix(byte != '\0' ? 3 : 1);
    }
    return plain;
}

std::string percent_unescaped(std::string_view text) {
    if (text.find('%') == std::string_view::npos)
        return std::string(text);
    std::optional<std::string> plain = percent_decoded(text);
    return plain && is_utf8(*plain) ? *std::move(plain) : html_unescaped(text);
}

bool is_windows_1252(std::string_view charset) noexcept {
    // Of the WHATWG Encoding standard, section 4.2.
    constexpr std::array<std::string_view, 17> labels{
        "windows-1252", "iso-8859-1", "latin1",          "us-ascii", "ansi_x3.4-1968", "ascii",
        "cp1252",       "cp819",      "csisolatin1",     "ibm819",   "iso-ir-100",     "iso8859-1",
        "iso88591",     "iso_8859-1", "iso_8859-1:1987", "l1",       "x-cp1252"};
    return std::ranges::any_of(labels, [&](std::string_view label) {
        return fields::iequals(label, fields::trim(charset));
    });
}

std::string utf8_of_windows_1252(std::string_view text) {
    std::string utf8;
    utf8.reserve(text.size());
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const unsigned point = byte >= 0x80 && byte < 0xa0 ? upper[byte - 0x80U] : byte;
        if (point < 0x80) {
            utf8 += c;
        } else if (point < 0x800) {
            utf8 += static_cast<char>(0xc0 | point >> 6);
            utf8 += static_cast<char>(0x80 | (point & 0x3f));
        } else {
            utf8 += static_cast<char>(0xe0 | point >> 12);
            utf8 += static_cast<char>(0x80 | (point >> 6 & 0x3f));
            utf8 += static_cast<char>(0x80 | (point & 0x3f));
        }
    }
    return utf8;
}

} // namespace rota::http
