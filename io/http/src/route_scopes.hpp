#pragma once

#include <string_view>

#include <rota/http/request.hpp>

namespace rota::http::detail {

// Prefixes are patterns (see router) without a wildcard and without a slash at their end.

/// Whether a path is a prefix or what begins with it and a slash. If so, sets the values of the
/// prefix's parameters, else they are undefined.
[[nodiscard]] bool is_under(std::string_view path, std::string_view prefix,
                            route_values& found) noexcept;

/// Whether what is under both prefixes belongs to `a` rather than to `b`: the longer one; of two of
/// the same length the one with text where the other, from the left, first has a parameter.
[[nodiscard]] bool is_before(std::string_view a, std::string_view b) noexcept;

} // namespace rota::http::detail
