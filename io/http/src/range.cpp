#include <rota/http/range.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

/// Digits, at least one; a number that is too large for 64 bits is the largest. Nothing if it is
/// none.
std::optional<std::uint64_t> read_number(std::string_view text) noexcept {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::invalid_argument || last != end)
        return std::nullopt;
    return error == std::errc::result_out_of_range ? most : number;
}

/// Of two numbers, however large.
bool is_less(std::string_view a, std::string_view b) noexcept {
    a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
    b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

struct named_range {
    byte_range part;
    std::size_t place; // in the field
};

enum class reading : std::uint8_t { satisfiable, behind_the_end, malformed };

/// Reads one of "a-b", "a-" and "-n", for a content of `size` bytes.
reading read_one(std::string_view text, std::uint64_t size, byte_range& into) noexcept {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos)
        return reading::malformed;
    const std::string_view from = text.substr(0, dash);
    const std::string_view to = text.substr(dash + 1);
    if (from.empty()) {
        const std::optional<std::uint64_t> last = read_number(to);
        if (!last)
            return reading::malformed;
        into.size = std::min(*last, size);
        into.offset = size - into.size;
        return *last > 0 ? reading::satisfiable : reading::behind_the_end;
    }
    const std::optional<std::uint64_t> first = read_number(from);
    const std::optional<std::uint64_t> last = to.empty() ? most : read_number(to);
    if (!first || !last || (!to.empty() && is_less(to, from)))
        return reading::malformed;
    if (*first >= size)
        return reading::behind_the_end;
    into.offset = *first;
    into.size = std::min(*last, size - 1) - *first + 1;
    return reading::satisfiable;
}

/// Makes one of those that overlap, in place of the first of them.
std::vector<byte_range> merge(std::vector<named_range>& named) {
    std::ranges::sort(named, {}, [](const named_range& r) { return r.part.offset; });
    std::size_t count = 0;
    for (const named_range& next : named) {
        if (count > 0) {
            named_range& last = named[count - 1];
            const std::uint64_t end = last.part.offset + last.part.size;
            if (next.part.offset < end) {
                last.part.size =
                    std::max(end, next.part.offset + next.part.size) - last.part.offset;
                last.place = std::min(last.place, next.place);
                continue;
            }
        }
        named[count++] = next;
    }
    named.resize(count);
    std::ranges::sort(named, {}, &named_range::place);
    std::vector<byte_range> merged;
    merged.reserve(count);
    for (const named_range& r : named)
        merged.push_back(r.part);
    return merged;
}

} // namespace

requested_ranges read_range(std::string_view value, std::uint64_t content_size) {
    requested_ranges result;
    const std::size_t equals = value.find('=');
    if (equals == std::string_view::npos || !fields::iequals(value.substr(0, equals), "bytes"))
        return result;
    std::string_view list = value.substr(equals + 1);
    // Spaces stand around commas only (section 5.6.1.2).
    const bool spaced = list.starts_with(' ') || list.starts_with('\t');
    std::vector<named_range> named;
    bool any = false;
    for (std::size_t place = 0; !list.empty(); ++place) {
        const std::string_view item = fields::next_list_item(list);
        if (item.empty())
            continue;
        byte_range part;
        const reading how = read_one(item, content_size, part);
        if (how == reading::malformed || (spaced && place == 0))
            return result;
        any = true;
        if (how == reading::satisfiable)
            named.push_back({part, place});
    }
    if (!any || (content_size == 0 && !named.empty()))
        return result;
    if (named.empty()) {
        result.how = requested_ranges::answer::unsatisfiable;
        return result;
    }
    std::vector<byte_range> parts = merge(named);
    if (parts.size() > ranges_max)
        return result;
    result.how = requested_ranges::answer::parts;
    result.parts = std::move(parts);
    return result;
}

std::string content_range(const byte_range& part, std::uint64_t content_size) {
    std::string text = "bytes ";
    text += std::to_string(part.offset);
    text += '-';
    text += std::to_string(part.offset + part.size - 1);
    text += '/';
    return text += std::to_string(content_size);
}

std::string content_range_unsatisfied(std::uint64_t content_size) {
    return "bytes */" + std::to_string(content_size);
}

} // namespace rota::http
