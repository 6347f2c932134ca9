#include <rota/http/forwarded.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <system_error>

#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

bool is_word_char(char c) noexcept {
    return syntax::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
}

/// A name that a proxy has made up: obfnode and obfport.
bool is_hidden_name(std::string_view text) noexcept {
    return text.size() > 1 && text.front() == '_' && std::ranges::all_of(text, is_word_char);
}

bool is_port(std::string_view text) noexcept {
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool all_read = error == std::errc{} && end == text.data() + text.size();
    return (all_read && text.size() <= 5) || is_hidden_name(text);
}

/// A quoted string that ends where the text ends, or a token.
bool is_forwarded_value(std::string_view text) noexcept {
    if (!text.starts_with('"'))
        return fields::is_token(text);
    if (text.size() < 2)
        return false;
    std::size_t at = 1;
    while (at + 1 < text.size() && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at + 1 == text.size() && text[at] == '"';
}

struct before_in_any_case {
    bool operator()(std::string_view a, std::string_view b) const noexcept {
        return std::ranges::lexicographical_compare(a, b, {}, fields::to_lower, fields::to_lower);
    }
};
using seen_names = std::set<std::string_view, before_in_any_case>;

/// False if it is malformed.
bool add_pair(std::string_view pair, forwarded_element& to, seen_names& seen) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos)
        return false;
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = pair.substr(equals + 1);
    if (!fields::is_token(name) || !is_forwarded_value(value) || !seen.insert(name).second)
        return false;
    struct known {
        std::string_view name;
        std::string forwarded_element::*into;
    };
    constexpr known all[] = {{"by", &forwarded_element::by},
                             {"for", &forwarded_element::from},
                             {"host", &forwarded_element::host},
                             {"proto", &forwarded_element::proto}};
    for (const known& each : all) {
        if (fields::iequals(name, each.name)) {
            to.*each.into = fields::unquoted(value);
            return !(to.*each.into).empty();
        }
    }
    return true;
}

} // namespace

std::optional<std::vector<forwarded_element>> parse_forwarded(std::string_view list) {
    std::vector<forwarded_element> all;
    while (!list.empty()) {
        std::string_view rest = fields::next_part(list, ',');
        if (rest.empty())
            continue;
        forwarded_element made;
        seen_names seen;
        while (!rest.empty()) {
            const std::string_view pair = fields::next_part(rest, ';');
            if (!pair.empty() && !add_pair(pair, made, seen))
                return std::nullopt;
        }
        all.push_back(std::move(made));
    }
    return all;
}

std::string forwarded_node::to_string() const {
    std::string text;
    if (!address)
        text = name;
    else if (address->is_v4())
        text = address->to_string();
    else
        text = '[' + address->to_string() + ']';
    if (!port.empty())
        text.append(1, ':').append(port);
    return text;
}

std::optional<forwarded_node> parse_forwarded_node(std::string_view text, bool bare) {
    forwarded_node node;
    if (bare && (node.address = io::ip_address::parse(text))) {
        node.name = text;
        return node;
    }
    std::size_t end = text.find(':');
    if (text.starts_with('[')) {
        end = text.find(']');
        if (end == std::string_view::npos)
            return std::nullopt;
        node.address = io::ip_address::parse(text.substr(1, end - 1));
        const bool v6 = text.substr(0, end).find(':') != std::string_view::npos;
        if (!node.address || !v6)
            return std::nullopt;
        ++end;
    }
    node.name = text.substr(0, end);
    if (!node.address)
        node.address = io::ip_address::parse(node.name);
    if (!node.address && fields::iequals(node.name, "unknown"))
        node.name = "unknown"; // one peer, of whatever case
    else if (!node.address && !is_hidden_name(node.name))
        return std::nullopt;
    if (end >= text.size())
        return node;
    node.port = text.substr(end + 1);
    if (text[end] != ':' || !is_port(node.port))
        return std::nullopt;
    return node;
}

std::string_view peer_address(std::string_view peer) noexcept {
    if (peer.starts_with("unix:"))
        return "unix";
    if (peer.starts_with('[')) {
        const std::size_t end = std::min(peer.find(']'), peer.size());
        const std::string_view inside = peer.substr(1, end - 1);
        return inside.substr(0, inside.find('%'));
    }
    return peer.substr(0, peer.find(':'));
}

} // namespace rota::http
