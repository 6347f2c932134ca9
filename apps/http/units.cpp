#include "units.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace rota_http {
namespace {

struct unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::array<unit, 4> times{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<unit, 4> sizes{{{"G", 1U << 30}, {"M", 1U << 20}, {"K", 1U << 10}, {"", 1}}};

/// A whole number off the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::optional<std::uint64_t> times_factor(std::uint64_t number, std::uint64_t factor,
                                          std::uint64_t max) {
    if (number > max / factor)
        return std::nullopt;
    return number * factor;
}

template <std::size_t N>
std::string in_largest_unit(std::uint64_t number, const std::array<unit, N>& units) {
    for (const unit& u : units) {
        if (number >= u.factor && number % u.factor == 0)
            return std::to_string(number / u.factor) + std::string(u.name);
    }
    return std::to_string(number) + std::string(units.back().name);
}

} // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
    const std::optional<std::uint64_t> number = take_number(text);
    return text.empty() ? number : std::nullopt;
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    const std::optional<std::uint64_t> number = take_number(text);
    if (!number)
        return std::nullopt;
    if (text.empty())
        text = "s";
    for (const unit& u : times) {
        if (u.name != text)
            continue;
        const auto length = times_factor(*number, u.factor, duration_max.count());
        return length ? std::optional(std::chrono::milliseconds(*length)) : std::nullopt;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    const std::optional<std::uint64_t> number = take_number(text);
    if (!number)
        return std::nullopt;
    std::string_view suffix = text;
    if (suffix.ends_with('B'))
        suffix.remove_suffix(suffix.ends_with("iB") && suffix.size() > 2 ? 2 : 1);
    for (const unit& u : sizes) {
        const bool lower = !u.name.empty() && suffix.size() == 1 &&
                           suffix[0] == static_cast<char>(u.name[0] - 'A' + 'a');
        if (suffix == u.name || lower)
            return times_factor(*number, u.factor, std::numeric_limits<std::int64_t>::max());
    }
    return std::nullopt;
}

std::optional<worker_range> parse_workers(std::string_view text) {
    constexpr std::uint64_t most_of_all = 256;
    const std::optional<std::uint64_t> least = take_number(text);
    if (!least || *least > most_of_all)
        return std::nullopt;
    if (text.empty())
        return worker_range{.least = static_cast<std::size_t>(*least)};
    if (*least == 0 || !text.starts_with('-'))
        return std::nullopt;
    text.remove_prefix(1);
    const std::optional<std::uint64_t> most = take_number(text);
    if (!most || !text.empty() || *most < *least || *most > most_of_all)
        return std::nullopt;
    return worker_range{.least = static_cast<std::size_t>(*least),
                        .most = static_cast<std::size_t>(*most)};
}

std::string to_text(std::chrono::milliseconds length) {
    return in_largest_unit(static_cast<std::uint64_t>(length.count()), times);
}

std::string bytes_to_text(std::uint64_t bytes) { return in_largest_unit(bytes, sizes); }

} // namespace rota_http
