#pragma once

// Names and values of header fields, for proxies, clients and middleware: RFC 9110
// sections 5.1, 5.5 and 5.6. All of it is for any thread; views are of the text that was given.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/request_head.hpp>

namespace rota::http::fields {

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
} // namespace detail

[[nodiscard]] constexpr bool is_token_char(char c) noexcept {
    return detail::token_chars[static_cast<unsigned char>(c)];
}

/// Returns whether the text is a token: what a name of a field, a method or a coding is made of.
[[nodiscard]] constexpr bool is_token(std::string_view text) noexcept {
    for (char c : text) {
        if (!is_token_char(c))
            return false;
    }
    return !text.empty();
}

[[nodiscard]] constexpr char to_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// Returns whether two names are the same, without regard to the case of ASCII letters.
[[nodiscard]] constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size())
        return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i] && to_lower(a[i]) != to_lower(b[i]))
            return false;
    }
    return true;
}

/// Returns the text without the spaces and tabs at both ends (OWS).
[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

/// Takes the next element off a comma-separated list of tokens (RFC 9110 section 5.6.1), trimmed;
/// it may be empty. For lists in which a quoted string may stand there is next_part().
[[nodiscard]] constexpr std::string_view next_list_item(std::string_view& list) noexcept {
    const std::size_t comma = list.find(',');
    const std::string_view item = trim(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    return item;
}

/// Takes what stands before the next `separator` outside of quotes off the front of `list`,
/// trimmed; it may be empty. A quoted string without an end goes to the end.
[[nodiscard]] std::string_view next_part(std::string_view& list, char separator) noexcept;
/// Returns a token as it is; a quoted string (RFC 9110 section 5.6.4) without its quotes and
/// escapes.
[[nodiscard]] std::string unquoted(std::string_view text);
/// Returns the text as it is if it is a token, else as a quoted string. Throws
/// std::invalid_argument for a text with a control character other than a tab.
[[nodiscard]] std::string quoted(std::string_view text);

/// Returns whether a comma-separated list has this element, in any case.
[[nodiscard]] bool list_has(std::string_view list, std::string_view element) noexcept;
/// Returns whether a field of that name has this element in its list, however many fields the list
/// is spread over: list_has(r.headers(), "Connection", "close").
[[nodiscard]] bool list_has(header_list among, std::string_view name,
                            std::string_view element) noexcept;
/// Returns the value of a field that is no list, if it has come once; nothing if there is none, or
/// several.
[[nodiscard]] std::optional<std::string_view> single_value(header_list among,
                                                           std::string_view name) noexcept;
/// Returns the values of all fields of that name as one list, in their order; nothing if there is
/// none.
[[nodiscard]] std::optional<std::string> joined(header_list among, std::string_view name);
/// Returns whether this field is about one connection, so that a proxy does not pass it on:
/// Connection, those that `connection` (the value of that field) names, and those that always are
/// (RFC 9110 section 7.6.1).
[[nodiscard]] bool is_hop_by_hop(std::string_view name, std::string_view connection = {}) noexcept;

namespace detail {
template <class Number>
[[nodiscard]] inline std::uint64_t load(const char* at) noexcept {
    Number number = 0;
    std::memcpy(&number, at, sizeof number);
    return number;
}

/// Returns whether one of eight bytes is a control character other than a tab.
[[nodiscard]] inline bool word_has_control(std::uint64_t word) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t highs = 0x8080808080808080;
    const std::uint64_t deletes = word ^ (ones * 0x7f);
    // A byte below 0x20, or one that is zero after the exclusive or. Borrows only raise false
    // alarms.
    if (((((word - ones * 0x20) & ~word) | ((deletes - ones) & ~deletes)) & highs) == 0)
        return false;
    for (int i = 0; i < 8; ++i, word >>= 8) {
        const auto c = static_cast<unsigned char>(word);
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}
} // namespace detail

/// Returns whether the text holds a control character other than a tab. Eight bytes at a time.
[[nodiscard]] inline bool has_control(std::string_view text) noexcept {
    const std::size_t size = text.size();
    const char* const at = text.data();
    if (size >= 8) {
        for (std::size_t i = 0; i + 8 < size; i += 8) {
            if (detail::word_has_control(detail::load<std::uint64_t>(at + i)))
                return true;
        }
        // Some of it twice.
        return detail::word_has_control(detail::load<std::uint64_t>(at + size - 8));
    }
    if (size >= 4)
        return detail::word_has_control(detail::load<std::uint32_t>(at) |
                                        detail::load<std::uint32_t>(at + size - 4) << 32);
    constexpr std::uint64_t spaces = 0x2020202020202020;
    std::uint64_t word = spaces;
    for (const char c : text)
        word = word << 8 | static_cast<unsigned char>(c);
    return detail::word_has_control(word);
}

} // namespace rota::http::fields
