#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <rota/http/request_head.hpp>

#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {

/// Reads a header line, `line` without its CRLF and `offset` from the base of its head, if there is
/// only one way to read it: a token, a colon, and text, which as a length is a number in digits.
/// Nothing if it is anything else, a second length of the head, too: then it has to be said what is
/// wrong with it, or llhttp has to read it. `has_length` is whether the head has one so far.
[[nodiscard]] inline std::optional<field_span>
read_plain_field(std::string_view line, std::uint32_t offset, bool& has_length) noexcept {
    std::size_t name = 0;
    while (name < line.size() && fields::is_token_char(line[name]))
        ++name;
    if (name == 0 || name == line.size() || line[name] != ':')
        return std::nullopt;
    const auto is_named = [&](std::string_view what) {
        return name == what.size() && fields::iequals(line.substr(0, name), what);
    };
    if (is_named("transfer-encoding"))
        return std::nullopt;
    const std::string_view value = fields::trim(line.substr(name + 1));
    if (is_named("content-length")) {
        constexpr std::size_t digits_max = 18; // so that it fits
        if (std::exchange(has_length, true) || value.empty() || value.size() > digits_max ||
            !std::all_of(value.begin(), value.end(), syntax::is_digit)) {
            return std::nullopt;
        }
    } else if (fields::has_control(value)) {
        return std::nullopt;
    }
    const auto value_at = static_cast<std::uint32_t>(value.data() - line.data());
    return field_span{{offset, static_cast<std::uint32_t>(name)},
                      {offset + value_at, static_cast<std::uint32_t>(value.size())}};
}

} // namespace rota::http
