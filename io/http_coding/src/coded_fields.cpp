#include "coded_fields.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include <rota/http/conditional.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

/// Calls `each` with the value of every field of that name.
template <class Function>
void for_each_value(const headers& of, std::string_view name, Function each) {
    for (std::string_view rest = of.wire(); !rest.empty();) {
        const std::size_t end = rest.find("\r\n");
        const std::string_view line = rest.substr(0, end);
        const std::size_t colon = line.find(':');
        if (fields::iequals(line.substr(0, colon), name))
            each(fields::trim(line.substr(colon + 1)));
        rest.remove_prefix(end + 2);
    }
}

bool ends_with(std::string_view text, std::string_view end) noexcept {
    return text.size() > end.size() && fields::iequals(text.substr(text.size() - end.size()), end);
}

/// `pattern` is "a/b", "a/*" or "*+a".
bool fits(std::string_view pattern, std::string_view type) noexcept {
    if (pattern.ends_with("/*")) {
        const std::size_t size = pattern.size() - 1;
        return type.size() > size && fields::iequals(type.substr(0, size), pattern.substr(0, size));
    }
    if (pattern.starts_with('*'))
        return ends_with(type, pattern.substr(1));
    return fields::iequals(pattern, type);
}

bool is_pattern(std::string_view text) noexcept {
    if (text.starts_with("*+"))
        return fields::is_token(text.substr(2));
    const std::size_t slash = text.find('/');
    return slash != std::string_view::npos && fields::is_token(text.substr(0, slash)) &&
           fields::is_token(text.substr(slash + 1)); // '*' is a character of tokens
}

} // namespace

type_list::type_list(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {
    for (const std::string& each : patterns_) {
        const std::string_view text = each;
        if (!is_pattern(text.substr(text.starts_with('!') ? 1 : 0)))
            throw std::invalid_argument('"' + each + "\" is no media type to be coded");
    }
}

bool type_list::contains(std::string_view content_type) const noexcept {
    const std::string_view type = fields::trim(content_type.substr(0, content_type.find(';')));
    for (const std::string_view each : patterns_) {
        const bool not_this = each.starts_with('!');
        if (fits(each.substr(not_this ? 1 : 0), type))
            return !not_this;
    }
    return false;
}

bool must_stay(const headers& of) noexcept {
    return of.find("Content-Encoding") || of.find("Content-Range") || must_stay_whole(of);
}

bool must_stay_whole(const headers& of) noexcept {
    bool found = false;
    for_each_value(of, "Cache-Control",
                   [&](std::string_view list) { found |= fields::list_has(list, "no-transform"); });
    return found;
}

namespace {

/// If it is a strong one.
void weaken_etag(headers& of) {
    const auto field = of.find("ETag");
    if (field && field->starts_with('"'))
        of.set("ETag", "W/" + std::string(*field));
}

} // namespace

void mark_coded(headers& of, coding::format how) {
    of.add("Content-Encoding", coding::to_string(how));
    weaken_etag(of);
    // Of the bytes as they were.
    static constexpr std::array<std::string_view, 5> stale{"Accept-Ranges", "Content-Digest",
                                                           "Repr-Digest", "Digest", "Content-MD5"};
    for (const std::string_view name : stale) {
        while (of.remove(name)) {
        }
    }
}

void match_etag(headers& of, header_list asked) {
    const auto field = of.find("ETag");
    const auto known = fields::joined(asked, "If-None-Match");
    const auto mine = field ? entity_tag::parse(*field) : std::nullopt;
    if (!mine)
        return;
    std::string_view rest = known ? std::string_view(*known) : std::string_view();
    while (const auto each = next_entity_tag(rest)) {
        if (strongly_equal(*each, *mine))
            return;
    }
    weaken_etag(of);
}

} // namespace rota::http
