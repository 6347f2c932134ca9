#include <rota/http/values.hpp>

#include <charconv>
#include <cmath>
#include <system_error>

#include <rota/http/error.hpp>
#include <rota/json/writer.hpp>

namespace rota::http::detail {
namespace {

template <class Number>
std::optional<Number> whole(std::string_view text) noexcept {
    Number result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return result;
}

} // namespace

std::optional<long long> parse_signed(std::string_view text, long long least,
                                      long long most) noexcept {
    const auto number = whole<long long>(text);
    return number && *number >= least && *number <= most ? number : std::nullopt;
}

std::optional<unsigned long long> parse_unsigned(std::string_view text,
                                                 unsigned long long most) noexcept {
    const auto number = whole<unsigned long long>(text);
    return number && *number <= most ? number : std::nullopt;
}

std::optional<double> parse_double(std::string_view text) noexcept {
    const auto number = whole<double>(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::string integer_text(long long least, unsigned long long most) {
    return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

void fail_value(std::string_view kind, std::string_view name, std::string_view expected,
                std::string_view got) {
    std::string reason(kind);
    reason.append(" ").append(name).append(": expected ").append(expected);
    reason.append(", got ").append(json::excerpt(got));
    throw http_error(400, std::move(reason));
}

void fail_missing(std::string_view kind, std::string_view name, std::string_view expected) {
    std::string reason(kind);
    reason.append(" ").append(name).append(": is missing, expected ").append(expected);
    throw http_error(400, std::move(reason));
}

} // namespace rota::http::detail
