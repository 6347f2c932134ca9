#include <rota/http/quality.hpp>

#include <algorithm>

#include <rota/http/fields.hpp>
#include <rota/http/media_type.hpp>

namespace rota::http {
namespace {

using fields::iequals;

constexpr std::size_t elements_max = 100;
constexpr std::size_t codings_max = 1'000;

/// "1", "0.5", "1.000": in thousandths; nothing for what is no weight.
std::optional<int> parse_quality(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1'))
        return std::nullopt;
    if (text.size() > 1 && text[1] != '.')
        return std::nullopt;
    int value = (text[0] - '0') * 1000;
    int unit = 100;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > '9')
            return std::nullopt;
        value += (c - '0') * unit;
        unit /= 10;
    }
    return value <= 1000 ? std::optional(value) : std::nullopt;
}

/// Takes the weight off the end of an element; nothing if it is malformed.
std::optional<weighted> parse_element(std::string_view element) {
    weighted found{element};
    std::string_view rest = element;
    (void)fields::next_part(rest, ';');
    while (!rest.empty()) {
        const auto before = static_cast<std::size_t>(rest.data() - element.data());
        const std::string_view part = fields::next_part(rest, ';');
        if (part.size() < 2 || fields::to_lower(part[0]) != 'q' || part[1] != '=')
            continue;
        const auto quality = parse_quality(part.substr(2));
        if (!quality)
            return std::nullopt;
        found.quality = *quality;
        found.value = fields::trim(element.substr(0, before - 1));
        break; // what follows was an extension, which nobody had
    }
    return found;
}

/// Calls `each` with up to `count_max` elements in their order, the empty ones counted.
template <class Function>
void for_each_element(std::string_view list, std::size_t count_max, Function&& each) {
    for (std::size_t seen = 0; !list.empty() && seen < count_max; ++seen) {
        const auto parsed = parse_element(fields::next_part(list, ','));
        if (parsed && !parsed->value.empty())
            each(*parsed);
    }
}

/// How well each offer is liked, by `match`: how exactly an element of the list means it, 0 if it
/// does not. `otherwise` is for what no element means.
template <class Match, class Otherwise>
std::optional<std::string_view> choose(std::string_view list, std::size_t count_max,
                                       std::span<const std::string_view> offers, Match&& match,
                                       Otherwise&& otherwise) {
    struct liking {
        int exactness = 0;
        int quality = 0;
    };
    std::vector<liking> liked;
    for (const std::string_view offer : offers)
        liked.push_back({.quality = otherwise(offer)});
    for_each_element(list, count_max, [&](const weighted& element) {
        for (std::size_t i = 0; i < offers.size(); ++i) {
            const int exact = match(element.value, offers[i]);
            if (exact > liked[i].exactness)
                liked[i] = {.exactness = exact, .quality = element.quality};
        }
    });
    const auto best = std::ranges::max_element(liked, {}, &liking::quality); // the first of equals
    if (best == liked.end() || best->quality == 0)
        return std::nullopt;
    return offers[static_cast<std::size_t>(best - liked.begin())];
}

std::optional<std::string_view> first_of(std::span<const std::string_view> offers) {
    return offers.empty() ? std::nullopt : std::optional(offers.front());
}

int media_match(std::string_view element, std::string_view offer) {
    const auto range = media_type::parse(element);
    const auto offered = media_type::parse(offer);
    if (!range || !offered)
        return 0;
    if (range->type == "*")
        return range->subtype == "*" ? 1 : 0;
    if (range->type != offered->type)
        return 0;
    if (range->subtype == "*")
        return 2;
    if (range->subtype != offered->subtype)
        return 0;
    for (const auto& [name, value] : range->parameters) {
        const auto has = offered->parameter(name);
        if (!has || !iequals(*has, value))
            return 0;
    }
    return 3 + static_cast<int>(range->parameters.size());
}

int language_match(std::string_view range, std::string_view offer) {
    if (range == "*")
        return 1;
    if (!iequals(offer.substr(0, range.size()), range))
        return 0;
    const bool whole = offer.size() == range.size() || offer[range.size()] == '-';
    return whole ? 1 + static_cast<int>(range.size()) : 0;
}

} // namespace

std::vector<weighted> parse_quality_list(std::string_view list) {
    std::vector<weighted> found;
    for_each_element(list, elements_max, [&](const weighted& each) { found.push_back(each); });
    return found;
}

std::optional<std::string_view> preferred_media_type(std::optional<std::string_view> accept,
                                                     std::span<const std::string_view> offers) {
    if (!accept)
        return first_of(offers);
    return choose(*accept, elements_max, offers, media_match, [](std::string_view) { return 0; });
}

std::optional<std::string_view> preferred_coding(std::optional<std::string_view> accept_encoding,
                                                 std::span<const std::string_view> offers) {
    if (!accept_encoding)
        return first_of(offers);
    const auto match = [](std::string_view element, std::string_view offer) {
        const bool old_name = iequals(element, "x-gzip") && iequals(offer, "gzip");
        if (iequals(element, offer) || old_name)
            return 2;
        return element == "*" ? 1 : 0;
    };
    // A refusal may stand behind many names. As it is always goes, but after all that the client
    // names.
    return choose(*accept_encoding, codings_max, offers, match,
                  [](std::string_view offer) { return iequals(offer, "identity") ? 1 : 0; });
}

std::optional<std::string_view> preferred_language(std::optional<std::string_view> accept_language,
                                                   std::span<const std::string_view> offers) {
    if (!accept_language)
        return first_of(offers);
    return choose(*accept_language, elements_max, offers, language_match,
                  [](std::string_view) { return 0; });
}

} // namespace rota::http
