#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/http/request_head.hpp>

namespace rota::http::test {

/// Fields of a request, made of names and values.
class fields_made {
public:
    fields_made(std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
        for (const auto& [name, value] : all)
            spans_.push_back({add(name), add(value)});
    }
    [[nodiscard]] header_list list() const noexcept { return {text_.data(), spans_}; }

private:
    text_span add(std::string_view text) {
        const text_span at{static_cast<std::uint32_t>(text_.size()),
                           static_cast<std::uint32_t>(text.size())};
        text_ += text;
        return at;
    }
    std::string text_;
    std::vector<field_span> spans_;
};

} // namespace rota::http::test
