#pragma once

#include <string_view>

#include <rota/http/fields.hpp>

namespace rota::http {

/// Reads a field value of Expect, a list whose elements may be empty (RFC 9110 sections 10.1.1 and
/// 5.6.1.2). Returns false if an expectation is among them that is not known here: that is a 417.
[[nodiscard]] constexpr bool read_expect(std::string_view value, bool& expects_continue) noexcept {
    while (!value.empty()) {
        const std::string_view expectation = fields::next_list_item(value);
        if (expectation.empty())
            continue;
        if (!fields::iequals(expectation, "100-continue"))
            return false;
        expects_continue = true;
    }
    return true;
}

} // namespace rota::http
