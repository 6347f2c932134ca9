#include "payload_size.hpp"

#include <charconv>
#include <cstdint>

namespace jobs {
namespace {

/// In UTF-8, of what \\uXXXX stands for: each half of a surrogate pair is half of four bytes.
std::size_t bytes_of(std::string_view hex) noexcept {
    std::uint32_t unit = 0;
    std::from_chars(hex.data(), hex.data() + hex.size(), unit, 16);
    const bool surrogate = unit >= 0xD800 && unit < 0xE000;
    return unit < 0x80 ? 1 : unit < 0x800 || surrogate ? 2 : 3;
}

} // namespace

std::size_t payload_size(std::string_view json) noexcept {
    if (!json.starts_with('"'))
        return json.size();
    std::size_t size = 0;
    for (std::size_t i = 1; i + 1 < json.size(); ++i) {
        if (json[i] != '\\') {
            ++size;
            continue;
        }
        const bool coded = json[++i] == 'u';
        size += coded ? bytes_of(json.substr(i + 1, 4)) : 1;
        i += coded ? 4 : 0;
    }
    return size;
}

} // namespace jobs
