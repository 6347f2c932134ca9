#include <rota/detail/one_line.hpp>

#include <algorithm>
#include <string_view>

namespace rota::detail {
namespace {

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

} // namespace

bool is_one_line(std::string_view text) noexcept { return std::ranges::none_of(text, is_control); }

std::string one_line(std::string text) {
    if (is_one_line(text))
        return text;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string line;
    line.reserve(text.size() + 3);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_control(c))
            line.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
        else
            line += c;
    }
    return line;
}

} // namespace rota::detail
