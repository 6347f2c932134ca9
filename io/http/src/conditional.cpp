#include <rota/http/conditional.hpp>

#include <rota/http/date.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

// What may stand between the quotes of a tag (RFC 9110 section 8.8.3).
constexpr bool is_tag_char(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x21 && byte != '"' && byte != 0x7f;
}

/// The tag at the front of `text`, which it is taken off.
std::optional<entity_tag> take_tag(std::string_view& text) noexcept {
    entity_tag found;
    std::string_view rest = text;
    if (rest.starts_with("W/")) {
        found.weak = true;
        rest.remove_prefix(2);
    }
    if (!rest.starts_with('"'))
        return std::nullopt;
    rest.remove_prefix(1);
    std::size_t size = 0;
    while (size < rest.size() && is_tag_char(rest[size]))
        ++size;
    if (size == rest.size() || rest[size] != '"')
        return std::nullopt;
    found.opaque = rest.substr(0, size);
    text = rest.substr(size + 1);
    return found;
}

std::optional<std::chrono::sys_seconds> find_date(header_list fields, std::string_view name) {
    const std::optional<std::string_view> text = fields::single_value(fields, name);
    return text ? parse_http_date(*text) : std::nullopt;
}

/// Whether the list of If-Match or If-None-Match has what there is.
template <class Equal>
bool has_current(std::string_view list, const validators& current, Equal equal) noexcept {
    if (!current.exists)
        return false;
    if (fields::trim(list) == "*")
        return true;
    if (!current.tag)
        return false;
    while (const std::optional<entity_tag> tag = next_entity_tag(list)) {
        if (equal(*tag, *current.tag))
            return true;
    }
    return false;
}

bool still_is(std::string_view if_range, const validators& current,
              std::chrono::system_clock::time_point now) {
    if (const auto tag = entity_tag::parse(if_range))
        return current.tag && strongly_equal(*tag, *current.tag);
    const auto date = parse_http_date(if_range);
    return date && date == current.last_modified && now >= *date + std::chrono::seconds(1);
}

} // namespace

std::optional<entity_tag> entity_tag::parse(std::string_view text) noexcept {
    const std::optional<entity_tag> found = take_tag(text);
    return text.empty() ? found : std::nullopt;
}

std::string entity_tag::to_string() const {
    std::string text = weak ? "W/\"" : "\"";
    return text.append(opaque).append("\"");
}

std::optional<entity_tag> next_entity_tag(std::string_view& list) noexcept {
    while (!list.empty()) {
        list = fields::trim(list);
        const std::optional<entity_tag> found = take_tag(list);
        if (found)
            list = fields::trim(list);
        const bool whole = list.empty() || list.front() == ',';
        const std::size_t comma = list.find(',');
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
        if (found && whole)
            return found;
    }
    return std::nullopt;
}

precondition check_preconditions(method asked, header_list fields, const validators& current) {
    const bool reads = asked == method::get || asked == method::head;
    if (const auto tags = fields::joined(fields, "If-Match")) {
        if (!has_current(*tags, current, strongly_equal))
            return precondition::failed;
    } else if (const auto until = find_date(fields, "If-Unmodified-Since");
               until && current.last_modified && *current.last_modified > *until) {
        return precondition::failed;
    }
    if (const auto tags = fields::joined(fields, "If-None-Match")) {
        if (has_current(*tags, current, weakly_equal))
            return reads ? precondition::not_modified : precondition::failed;
    } else if (const auto since = find_date(fields, "If-Modified-Since");
               reads && since && current.last_modified && *current.last_modified <= *since) {
        return precondition::not_modified;
    }
    return precondition::go_on;
}

std::optional<std::string_view> applicable_range(method asked, header_list fields,
                                                 const validators& current,
                                                 std::chrono::system_clock::time_point now) {
    if (asked != method::get)
        return std::nullopt;
    const std::optional<std::string_view> range = fields::single_value(fields, "Range");
    if (!range || !fields.find("If-Range"))
        return range;
    const std::optional<std::string_view> condition = fields::single_value(fields, "If-Range");
    return condition && still_is(*condition, current, now) ? range : std::nullopt;
}

} // namespace rota::http
