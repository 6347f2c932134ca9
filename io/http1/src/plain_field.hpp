#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rota/http/request_head.hpp>

#include <rota/http/detail/syntax.hpp>

namespace rota::http {

/// Reads a header line, `line` without its CRLF and `offset` from the base of its head, if there is
/// only one way to read it: a token, a colon, and text that says nothing about framing. Nothing if
/// it is anything else: then it has to be said what is wrong with it, or llhttp has to read it.
[[nodiscard]] inline std::optional<field_span> read_plain_field(std::string_view line,
                                                                std::uint32_t offset) noexcept {
    std::size_t name = 0;
    while (name < line.size() && syntax::is_token_char(line[name]))
        ++name;
    if (name == 0 || name == line.size() || line[name] != ':')
        return std::nullopt;
    constexpr std::string_view length = "content-length";
    constexpr std::string_view coding = "transfer-encoding";
    if ((name == length.size() && syntax::iequals(line.substr(0, name), length)) ||
        (name == coding.size() && syntax::iequals(line.substr(0, name), coding))) {
        return std::nullopt;
    }
    const std::string_view value = syntax::trim(line.substr(name + 1));
    if (syntax::has_control(value))
        return std::nullopt;
    const auto value_at = static_cast<std::uint32_t>(value.data() - line.data());
    return field_span{{offset, static_cast<std::uint32_t>(name)},
                      {offset + value_at, static_cast<std::uint32_t>(value.size())}};
}

} // namespace rota::http
