#include <rota/json/describe.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace rota::json::detail {

std::string range_text(long long least, long long most) {
    return std::to_string(least) + " to " + std::to_string(most);
}

std::string range_text(double least, double most) {
    const auto shortest = [](double number) {
        std::array<char, 32> text{};
        return std::string(text.data(),
                           std::to_chars(text.data(), text.data() + text.size(), number).ptr);
    };
    return shortest(least) + " to " + shortest(most);
}

std::size_t characters(std::string_view text) noexcept {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    }));
}

} // namespace rota::json::detail
