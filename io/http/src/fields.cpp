#include <rota/http/fields.hpp>

#include <algorithm>
#include <stdexcept>

namespace rota::http::fields {

std::string_view next_part(std::string_view& list, char separator) noexcept {
    bool in_quotes = false;
    std::size_t at = 0;
    for (; at < list.size() && (in_quotes || list[at] != separator); ++at) {
        if (list[at] == '"')
            in_quotes = !in_quotes;
        else if (in_quotes && list[at] == '\\' && at + 1 < list.size())
            ++at;
    }
    const std::string_view part = trim(list.substr(0, at));
    list.remove_prefix(std::min(at + 1, list.size()));
    return part;
}

std::string unquoted(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"')
        return std::string(text);
    text = text.substr(1, text.size() - 2);
    std::string plain;
    plain.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size())
            ++i;
        plain += text[i];
    }
    return plain;
}

std::string quoted(std::string_view text) {
    if (is_token(text))
        return std::string(text);
    if (has_control(text))
        throw std::invalid_argument("a control character in a quoted string");
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result += '\\';
        result += c;
    }
    result += '"';
    return result;
}

bool list_has(std::string_view list, std::string_view element) noexcept {
    while (!list.empty()) {
        if (iequals(next_part(list, ','), element))
            return true;
    }
    return false;
}

bool list_has(header_list among, std::string_view name, std::string_view element) noexcept {
    return std::any_of(among.begin(), among.end(), [&](const header_field& field) {
        return iequals(field.name, name) && list_has(field.value, element);
    });
}

std::optional<std::string_view> single_value(header_list among, std::string_view name) noexcept {
    std::optional<std::string_view> found;
    for (const header_field field : among) {
        if (!iequals(field.name, name))
            continue;
        if (found)
            return std::nullopt;
        found = field.value;
    }
    return found;
}

std::optional<std::string> joined(header_list among, std::string_view name) {
    std::optional<std::string> all;
    for (const header_field field : among) {
        if (!iequals(field.name, name))
            continue;
        if (all)
            all->append(", ").append(field.value);
        else
            all.emplace(field.value);
    }
    return all;
}

bool is_hop_by_hop(std::string_view name, std::string_view connection) noexcept {
    static constexpr std::array<std::string_view, 9> always{"connection",
                                                            "keep-alive",
                                                            "proxy-authenticate",
                                                            "proxy-authorization",
                                                            "te",
                                                            "proxy-connection",
                                                            "trailer",
                                                            "transfer-encoding",
                                                            "upgrade"};
    const auto same = [name](std::string_view other) { return iequals(name, other); };
    return std::any_of(always.begin(), always.end(), same) || list_has(connection, name);
}

} // namespace rota::http::fields
