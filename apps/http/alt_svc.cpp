#include "alt_svc.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

#include <rota/http/fields.hpp>

namespace rota_http {
namespace {

namespace fields = rota::http::fields;

bool take(std::string_view& from, char c) noexcept {
    if (!from.starts_with(c))
        return false;
    from.remove_prefix(1);
    return true;
}

void skip_spaces(std::string_view& from) noexcept {
    from.remove_prefix(std::min(from.find_first_not_of(" \t"), from.size()));
}

bool take_token(std::string_view& from) noexcept {
    const auto* const end = std::ranges::find_if_not(from, fields::is_token_char);
    const auto size = static_cast<std::size_t>(end - from.begin());
    from.remove_prefix(size);
    return size > 0;
}

/// What is between quotes, none of which has a use here that needs a backslash.
std::optional<std::string_view> take_quoted(std::string_view& from) noexcept {
    if (!take(from, '"'))
        return std::nullopt;
    const std::size_t end = from.find('"');
    if (end == std::string_view::npos)
        return std::nullopt;
    const std::string_view inner = from.substr(0, end);
    from.remove_prefix(end + 1);
    const bool sendable =
        std::ranges::all_of(inner, [](char c) { return c >= ' ' && c < '\x7f' && c != '\\'; });
    return sendable ? std::optional(inner) : std::nullopt;
}

/// [host]:port
bool is_authority(std::string_view text) noexcept {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos ||
        text.substr(0, colon).find_first_of(" ,;/@") != std::string_view::npos)
        return false;
    const std::string_view digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return error == std::errc() && end == digits.data() + digits.size() && port != 0;
}

/// protocol="authority" and its parameters.
bool take_alternative(std::string_view& from) noexcept {
    if (!take_token(from) || !take(from, '='))
        return false;
    const auto where = take_quoted(from);
    if (!where || !is_authority(*where))
        return false;
    for (skip_spaces(from); take(from, ';'); skip_spaces(from)) {
        skip_spaces(from);
        if (!take_token(from) || !take(from, '='))
            return false;
        if (from.starts_with('"') ? !take_quoted(from) : !take_token(from))
            return false;
    }
    return true;
}

} // namespace

bool is_alt_svc(std::string_view text) noexcept {
    if (text == "clear")
        return true;
    for (;;) {
        if (!take_alternative(text))
            return false;
        if (text.empty())
            return true;
        if (!take(text, ','))
            return false;
        skip_spaces(text);
    }
}

} // namespace rota_http
