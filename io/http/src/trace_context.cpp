#include <rota/http/trace_context.hpp>

#include <algorithm>
#include <cstddef>

#include <rota/http/detail/syntax.hpp>

namespace rota::http {
namespace {

/// Lower case only.
bool is_hex(char c) noexcept { return syntax::is_digit(c) || (c >= 'a' && c <= 'f'); }

bool is_zero(char c) noexcept { return c == '0'; }

/// Takes so many digits off the front, and what stands behind them; false if they are none.
template <std::size_t Size>
bool take(std::string_view& text, std::array<char, Size>& into) noexcept {
    if (text.size() < Size || !std::all_of(text.begin(), text.begin() + Size, is_hex))
        return false;
    std::copy_n(text.begin(), Size, into.begin());
    text.remove_prefix(Size);
    return true;
}

bool take_hyphen(std::string_view& text) noexcept {
    if (!text.starts_with('-'))
        return false;
    text.remove_prefix(1);
    return true;
}

} // namespace

std::string trace_context::to_string() const {
    std::string text = "00-";
    text.append(trace_id.data(), trace_id.size()).append(1, '-');
    text.append(span_id.data(), span_id.size()).append(sampled ? "-01" : "-00");
    return text;
}

std::optional<trace_context> parse_traceparent(std::string_view text) noexcept {
    trace_context got;
    std::array<char, 2> version{};
    std::array<char, 2> flags{};
    const bool read = take(text, version) && take_hyphen(text) && take(text, got.trace_id) &&
                      take_hyphen(text) && take(text, got.parent_id) && take_hyphen(text) &&
                      take(text, flags);
    if (!read)
        return std::nullopt;
    const std::string_view known(version.data(), version.size());
    // A later version may have more behind it.
    const bool ends = text.empty() || (known != "00" && text.starts_with('-'));
    if (known == "ff" || !ends || std::ranges::all_of(got.trace_id, is_zero) ||
        std::ranges::all_of(got.parent_id, is_zero))
        return std::nullopt;
    got.sampled = (syntax::hex_value(flags[1]) & 1) != 0;
    return got;
}

} // namespace rota::http
