#include <rota/http/media_type.hpp>

#include <algorithm>

#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

/// More than any type has: each is looked for among those before it.
constexpr std::size_t parameters_max = 32;

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), fields::to_lower);
    return result;
}

/// A token, or what is in quotes and whole.
bool is_parameter_value(std::string_view text) noexcept {
    if (fields::is_token(text))
        return true;
    if (text.size() < 2 || text.front() != '"' || text.back() != '"')
        return false;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (text[i] == '"')
            return false;
        if (text[i] == '\\' && ++i + 1 == text.size())
            return false; // what ends it is escaped
    }
    return !fields::has_control(text);
}

} // namespace

std::optional<media_type> media_type::parse(std::string_view text) {
    const std::string_view name = fields::next_part(text, ';');
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos)
        return std::nullopt;
    media_type found;
    found.type = lower(name.substr(0, slash));
    found.subtype = lower(name.substr(slash + 1));
    if (!fields::is_token(found.type) || !fields::is_token(found.subtype))
        return std::nullopt;
    while (!text.empty()) {
        const std::string_view part = fields::next_part(text, ';');
        if (part.empty())
            continue; // RFC 9110 section 5.6.6
        const std::size_t equals = part.find('=');
        const std::string parameter_name = lower(part.substr(0, equals));
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
        if (!fields::is_token(parameter_name) || !is_parameter_value(value) ||
            found.parameters.size() == parameters_max || found.parameter(parameter_name)) {
            return std::nullopt;
        }
        found.parameters.emplace_back(parameter_name, fields::unquoted(value));
    }
    return found;
}

bool media_type::is(std::string_view essence) const noexcept {
    return essence.size() == type.size() + 1 + subtype.size() && essence[type.size()] == '/' &&
           fields::iequals(essence.substr(0, type.size()), type) &&
           fields::iequals(essence.substr(type.size() + 1), subtype);
}

bool media_type::is_json() const noexcept {
    return is("application/json") || subtype.ends_with("+json");
}

std::optional<std::string_view> media_type::parameter(std::string_view name) const noexcept {
    for (const auto& [key, value] : parameters) {
        if (fields::iequals(key, name))
            return value;
    }
    return std::nullopt;
}

std::string media_type::to_string() const {
    std::string text = essence();
    for (const auto& [key, value] : parameters)
        text.append("; ").append(key).append("=").append(value.empty() ? "\"\""
                                                                       : fields::quoted(value));
    return text;
}

} // namespace rota::http
