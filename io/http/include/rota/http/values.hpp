#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace rota::http {

/// How a parameter of a path or a query becomes a T, and what it has to be for that. For a type of
/// one's own, specialize it with the same two functions.
template <class T>
struct text_value {
    static_assert(sizeof(T) == 0, "no text becomes this type by itself: a char is read as a "
                                  "std::string, and a type of one's own specializes text_value");
};

namespace detail {
[[nodiscard]] std::optional<long long> parse_signed(std::string_view text, long long least,
                                                    long long most) noexcept;
[[nodiscard]] std::optional<unsigned long long> parse_unsigned(std::string_view text,
                                                               unsigned long long most) noexcept;
[[nodiscard]] std::optional<double> parse_double(std::string_view text) noexcept;
[[nodiscard]] std::string integer_text(long long least, unsigned long long most);

/// Throws http_error(400): which one of `kind` it is, what was expected, and what came, quoted,
/// escaped and no longer than some 40 bytes.
[[noreturn]] void fail_value(std::string_view kind, std::string_view name,
                             std::string_view expected, std::string_view got);
/// Does the same for a parameter that is missing.
[[noreturn]] void fail_missing(std::string_view kind, std::string_view name,
                               std::string_view expected);

template <class T>
[[nodiscard]] T value_of(std::string_view kind, std::string_view name, std::string_view text) {
    std::optional<T> parsed = text_value<T>::parse(text);
    if (!parsed)
        fail_value(kind, name, text_value<T>::expected(), text);
    return *std::move(parsed);
}
} // namespace detail

template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>) //
    struct text_value<T> {
    using range = std::numeric_limits<T>;
    [[nodiscard]] static std::optional<T> parse(std::string_view text) noexcept {
        if constexpr (std::is_signed_v<T>) {
            const auto number = detail::parse_signed(text, range::min(), range::max());
            return number ? std::optional(static_cast<T>(*number)) : std::nullopt;
        } else {
            const auto number = detail::parse_unsigned(text, range::max());
            return number ? std::optional(static_cast<T>(*number)) : std::nullopt;
        }
    }
    [[nodiscard]] static std::string expected() {
        return detail::integer_text(range::min(), range::max());
    }
};

template <class T>
requires std::is_floating_point_v<T>
struct text_value<T> {
    [[nodiscard]] static std::optional<T> parse(std::string_view text) noexcept {
        const auto number = detail::parse_double(text);
        if (!number || std::abs(*number) > static_cast<double>(std::numeric_limits<T>::max()))
            return std::nullopt;
        return static_cast<T>(*number);
    }
    [[nodiscard]] static std::string expected() { return "a number"; }
};

template <>
struct text_value<bool> {
    [[nodiscard]] static std::optional<bool> parse(std::string_view text) noexcept {
        if (text == "true" || text == "1")
            return true;
        if (text == "false" || text == "0")
            return false;
        return std::nullopt;
    }
    [[nodiscard]] static std::string expected() { return "true, false, 1 or 0"; }
};

template <>
struct text_value<std::string> {
    [[nodiscard]] static std::optional<std::string> parse(std::string_view text) {
        return std::string(text);
    }
    [[nodiscard]] static std::string expected() { return "a text"; }
};

} // namespace rota::http
