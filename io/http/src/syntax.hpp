#pragma once

// The character classes and small comparisons of the HTTP grammar (RFC 9110 section 5.6, RFC 9112
// section 1.2).

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rota::http::syntax {

namespace detail {
constexpr std::array<bool, 256> make_class(std::string_view extra) {
    std::array<bool, 256> table{};
    for (int c = '0'; c <= '9'; ++c)
        table[static_cast<std::size_t>(c)] = true;
    for (int c = 'A'; c <= 'Z'; ++c)
        table[static_cast<std::size_t>(c)] = true;
    for (int c = 'a'; c <= 'z'; ++c)
        table[static_cast<std::size_t>(c)] = true;
    for (char c : extra)
        table[static_cast<unsigned char>(c)] = true;
    return table;
}
inline constexpr auto token_chars = make_class("!#$%&'*+-.^_`|~");
// RFC 3986: unreserved and sub-delims, the characters of a registered name but for
// percent-encoding.
inline constexpr auto host_chars = make_class("-._~!$&'()*+,;=");
// RFC 3986: pchar and '/', but for percent-encoding.
inline constexpr auto path_chars = make_class("-._~!$&'()*+,;=:@/");
} // namespace detail

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

[[nodiscard]] constexpr bool is_token_char(char c) noexcept {
    return detail::token_chars[static_cast<unsigned char>(c)];
}

[[nodiscard]] constexpr bool is_host_char(char c) noexcept {
    return detail::host_chars[static_cast<unsigned char>(c)];
}

[[nodiscard]] constexpr bool is_path_char(char c) noexcept {
    return detail::path_chars[static_cast<unsigned char>(c)];
}

[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
    for (char c : text) {
        if (!is_token_char(c))
            return false;
    }
    return !text.empty();
}

/// The value of a hexadecimal digit, or -1.
[[nodiscard]] constexpr int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

[[nodiscard]] constexpr char to_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// Compares without regard to the case of ASCII letters.
[[nodiscard]] constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size())
        return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i] && to_lower(a[i]) != to_lower(b[i]))
            return false;
    }
    return true;
}

/// Without the spaces and tabs at both ends (OWS).
[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

/// `line` is not empty.
[[nodiscard]] constexpr bool starts_with_space(std::string_view line) noexcept {
    return line.front() == ' ' || line.front() == '\t';
}

[[nodiscard]] constexpr std::string_view without_last_cr(std::string_view line) noexcept {
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line;
}

/// Takes the next element off a comma-separated list (RFC 9110 section 5.6.1), trimmed; it may be
/// empty.
[[nodiscard]] constexpr std::string_view next_list_item(std::string_view& list) noexcept {
    const std::size_t comma = list.find(',');
    const std::string_view item = trim(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    return item;
}

namespace detail {
/// Whether one of the eight bytes is a control character other than a tab.
inline bool word_has_control(const char* at) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t highs = 0x8080808080808080;
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    const std::uint64_t deletes = word ^ (ones * 0x7f);
    // A byte below 0x20, or one that is zero after the exclusive or. Borrows only raise false
    // alarms.
    const std::uint64_t suspects =
        (((word - ones * 0x20) & ~word) | ((deletes - ones) & ~deletes)) & highs;
    if (suspects == 0)
        return false;
    for (int i = 0; i < 8; ++i) {
        const auto c = static_cast<unsigned char>(at[i]);
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}
} // namespace detail

/// True if the text holds a control character other than a tab. Eight bytes at a time.
[[nodiscard]] inline bool has_control(std::string_view text) noexcept {
    if (text.size() < 8) {
        std::array<char, 8> padded;
        padded.fill(' ');
        for (std::size_t i = 0; i < text.size(); ++i)
            padded[i] = text[i];
        return detail::word_has_control(padded.data());
    }
    for (std::size_t i = 0; i + 8 < text.size(); i += 8) {
        if (detail::word_has_control(text.data() + i))
            return true;
    }
    return detail::word_has_control(text.data() + text.size() - 8); // some of it twice
}

} // namespace rota::http::syntax
