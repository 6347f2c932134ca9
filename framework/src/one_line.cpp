#include <rota/detail/one_line.hpp>

#include <algorithm>
#include <string_view>

#include <rota/detail/hex.hpp>

namespace rota::detail {
namespace {

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

} // namespace

bool is_one_line(std::string_view text) noexcept { return std::ranges::none_of(text, is_control); }

std::string one_line(std::string text) {
    if (is_one_line(text))
        return text;
    std::string line;
    line.reserve(text.size() + 3);
    for (const char c : text) {
        if (is_control(c))
            append_hex(line.append("\\x"), static_cast<unsigned char>(c));
        else
            line += c;
    }
    return line;
}

} // namespace rota::detail
