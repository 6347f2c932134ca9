#include "route_scopes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rota::http::detail {
namespace {

/// The segment behind a slash at `at`, which moves to the next slash, or to the end.
std::string_view next_segment(std::string_view text, std::size_t& at) noexcept {
    const std::size_t begin = at + 1;
    at = std::min(text.find('/', begin), text.size());
    return text.substr(begin, at - begin);
}

bool is_parameter(std::string_view segment) noexcept { return segment.starts_with('{'); }

} // namespace

bool is_under(std::string_view path, std::string_view prefix, route_values& found) noexcept {
    std::size_t in_path = 0;
    std::size_t values = 0;
    for (std::size_t in_prefix = 0; in_prefix < prefix.size();) {
        if (in_path == path.size())
            return false;
        const std::string_view wanted = next_segment(prefix, in_prefix);
        const std::size_t begin = in_path + 1;
        const std::string_view segment = next_segment(path, in_path);
        if (!is_parameter(wanted)) {
            if (segment != wanted)
                return false;
            continue;
        }
        if (segment.empty())
            return false;
        found.values[values++] = {static_cast<std::uint32_t>(begin),
                                  static_cast<std::uint32_t>(segment.size())};
    }
    return true;
}

bool is_before(std::string_view a, std::string_view b) noexcept {
    const auto a_length = std::ranges::count(a, '/');
    const auto b_length = std::ranges::count(b, '/');
    if (a_length != b_length)
        return a_length > b_length;
    std::size_t in_b = 0;
    for (std::size_t in_a = 0; in_a < a.size();) {
        const bool a_is_text = !is_parameter(next_segment(a, in_a));
        const bool b_is_text = !is_parameter(next_segment(b, in_b));
        if (a_is_text != b_is_text)
            return a_is_text;
    }
    return false;
}

} // namespace rota::http::detail
