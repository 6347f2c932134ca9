#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rota::http {

/// The methods of RFC 9110 section 9.3 and PATCH (RFC 5789). `other` is any other method: only
/// middleware sees such a request, and if it goes on the answer is a 501.
enum class method : std::uint8_t {
    get,
    head,
    post,
    put,
    delete_,
    connect,
    options,
    trace,
    patch,
    other,
};

/// Without `other`.
inline constexpr std::size_t method_count = 9;

inline constexpr std::array<std::string_view, method_count> method_names{
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};

/// Returns the name as it is sent; "_OTHER" for `other`.
[[nodiscard]] constexpr std::string_view to_string(method value) noexcept {
    if (value == method::other)
        return "_OTHER";
    return method_names[static_cast<std::size_t>(value)];
}

/// Returns the method of a name. Names are case-sensitive (RFC 9110 section 9.1): "get" is not a
/// known method.
[[nodiscard]] constexpr std::optional<method> parse_method(std::string_view name) noexcept {
    for (std::size_t i = 0; i < method_count; ++i) {
        if (method_names[i] == name)
            return static_cast<method>(i);
    }
    return std::nullopt;
}

} // namespace rota::http
