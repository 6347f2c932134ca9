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

/// Empty if there is none.
std::string_view take_token(std::string_view& from) noexcept {
    const auto* const end = std::ranges::find_if_not(from, fields::is_token_char);
    const std::string_view token = from.substr(0, static_cast<std::size_t>(end - from.begin()));
    from.remove_prefix(token.size());
    return token;
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

bool is_number(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// protocol="authority" and its parameters.
bool take_alternative(std::string_view& from) noexcept {
    if (take_token(from).empty() || !take(from, '='))
        return false;
    const auto where = take_quoted(from);
    if (!where || !is_authority(*where))
        return false;
    for (skip_spaces(from); take(from, ';'); skip_spaces(from)) {
        skip_spaces(from);
        const std::string_view name = take_token(from);
        if (name.empty() || !take(from, '='))
            return false;
        const bool quoted = from.starts_with('"');
        const std::optional value = quoted ? take_quoted(from) : std::optional(take_token(from));
        if (!value || (value->empty() && !quoted))
            return false;
        if (name == "ma" && !is_number(*value)) // seconds (RFC 7838 section 3.1)
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
