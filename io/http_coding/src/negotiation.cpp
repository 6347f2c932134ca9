#include "negotiation.hpp"

#include <array>
#include <string>

#include <rota/http/fields.hpp>
#include <rota/http/quality.hpp>

namespace rota::http {
namespace {

using coding::format;

constexpr std::string_view identity = "identity";
constexpr std::array known{format::zstd, format::br, format::gzip};

std::optional<format> format_of(std::string_view name) noexcept {
    if (fields::iequals(name, "x-gzip")) // RFC 9110 section 8.4.1.3
        return format::gzip;
    for (const format each : known) {
        if (fields::iequals(name, coding::to_string(each)))
            return each;
    }
    return std::nullopt;
}

} // namespace

coding_choice choose_coding(header_list asked, std::span<const format> formats) {
    const std::optional<std::string> accepted = fields::joined(asked, "Accept-Encoding");
    if (!accepted) // it would do with any; but it may well be one that knows none
        return {};
    std::array<std::string_view, coding::format_count + 1> names;
    std::size_t count = 0;
    for (const format each : formats)
        names[count++] = coding::to_string(each);
    names[count++] = identity;
    const auto best = preferred_coding(accepted, std::span(names).first(count));
    coding_choice choice;
    choice.as_it_is = preferred_coding(accepted, std::span(&identity, 1)).has_value();
    if (best && *best != identity)
        choice.coding = format_of(*best);
    return choice;
}

std::optional<std::vector<format>> applied_codings(header_list sent, std::size_t count_max) {
    std::vector<format> found;
    const std::optional<std::string> field = fields::joined(sent, "Content-Encoding");
    if (!field)
        return found;
    for (std::string_view rest = *field; !rest.empty();) {
        const std::string_view name = fields::next_list_item(rest);
        if (name.empty() || fields::iequals(name, identity))
            continue;
        const std::optional<format> each = format_of(name);
        if (!each || !coding::is_available(*each) || found.size() == count_max)
            return std::nullopt;
        found.push_back(*each);
    }
    return found;
}

std::string available_codings() {
    std::string list;
    for (const format each : known) {
        if (coding::is_available(each))
            list.append(list.empty() ? "" : ", ").append(coding::to_string(each));
    }
    return list.empty() ? std::string(identity) : list;
}

} // namespace rota::http
