#pragma once

#include <string>
#include <utility>
#include <vector>

#include <rota/http/request_head.hpp>

namespace rota::http::test {

/// A list of fields as a request has it.
struct some_fields {
    explicit some_fields(const std::vector<std::pair<std::string, std::string>>& from) {
        for (const auto& [name, value] : from)
            spans.push_back({put(name), put(value)});
    }
    text_span put(const std::string& piece) {
        const text_span where{static_cast<std::uint32_t>(text.size()),
                              static_cast<std::uint32_t>(piece.size())};
        text += piece;
        return where;
    }
    [[nodiscard]] header_list list() const { return {text.data(), spans}; }
    std::string text;
    std::vector<field_span> spans;
};

} // namespace rota::http::test
