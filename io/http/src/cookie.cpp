#include <rota/http/cookie.hpp>

#include <algorithm>
#include <stdexcept>

#include <rota/http/date.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

constexpr std::size_t pair_bytes_max = 4'096;
constexpr std::size_t attribute_bytes_max = 1'024;
constexpr std::size_t label_bytes_max = 63;
constexpr std::size_t domain_bytes_max = 253;

/// Takes the next cookie off the front of a Cookie field; false at its end.
bool next_cookie(std::string_view& rest, request_cookie& found) noexcept {
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(';'), rest.size());
        const std::string_view pair = fields::trim(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (pair.empty())
            continue;
        const std::size_t equals = pair.find('=');
        if (equals == std::string_view::npos) {
            found = {{}, pair};
        } else {
            found = {fields::trim(pair.substr(0, equals)), fields::trim(pair.substr(equals + 1))};
        }
        return true;
    }
    return false;
}

[[noreturn]] void fail(const std::string& why) { throw std::invalid_argument(why); }

/// RFC 6265 section 4.1.1: US-ASCII but for controls, white space, quotes, ',', ';' and '\'.
constexpr bool is_cookie_octet(char c) noexcept {
    return c > ' ' && c < '\x7f' && c != '"' && c != ',' && c != ';' && c != '\\';
}

void check_pair(const cookie& of) {
    if (!fields::is_token(of.name))
        fail("the name of a cookie is a token: letters, digits and !#$%&'*+-.^_`|~");
    std::string_view value = of.value;
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
    if (!std::ranges::all_of(value, is_cookie_octet)) {
        fail("the value of a cookie has no control characters, spaces, quotes, commas, semicolons "
             "and backslashes in it, and nothing but US-ASCII");
    }
    if (of.name.size() + of.value.size() > pair_bytes_max)
        fail("the name and the value of a cookie have 4096 bytes at most");
}

bool is_alphanumeric(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Letters, digits and hyphens between dots (RFC 1123 section 2.1).
bool is_domain(std::string_view text) noexcept {
    if (text.size() > domain_bytes_max)
        return false;
    for (bool more = true; more;) {
        const std::size_t dot = text.find('.');
        const std::string_view label = text.substr(0, dot);
        if (label.empty() || label.size() > label_bytes_max || label.front() == '-' ||
            label.back() == '-' ||
            !std::ranges::all_of(label, [](char c) { return c == '-' || is_alphanumeric(c); }))
            return false;
        more = dot != std::string_view::npos;
        text.remove_prefix(more ? dot + 1 : 0);
    }
    return true;
}

void check_attributes(const cookie& of) {
    if (!of.domain.empty() && !is_domain(of.domain))
        fail("the domain of a cookie is a name: labels of letters, digits and hyphens");
    const bool plain =
        std::ranges::all_of(of.path, [](char c) { return c >= ' ' && c < '\x7f' && c != ';'; });
    if (!of.path.empty() && (of.path.front() != '/' || !plain)) {
        fail("the path of a cookie begins with a slash, and has no control characters and "
             "semicolons in it, and nothing but US-ASCII");
    }
    if (of.path.size() > attribute_bytes_max)
        fail("the path of a cookie has 1024 bytes at most");
    if (!of.path.empty() && of.path.back() == ' ')
        fail("the path of a cookie does not end with a space");
    if (of.max_age && of.max_age->count() < 0)
        fail("the max_age of a cookie is 0 or more seconds");
    using namespace std::chrono;
    if (of.expires && (*of.expires < sys_days(year(1601) / 1 / 1) ||
                       *of.expires >= sys_days(year(10'000) / 1 / 1)))
        fail("a cookie expires between the years 1601 and 9999");
}

bool begins(std::string_view name, std::string_view prefix) noexcept {
    return fields::iequals(name.substr(0, prefix.size()), prefix);
}

/// What browsers would refuse.
void check_together(const cookie& of) {
    if (of.same_site == http::same_site::none && !of.secure)
        fail("a cookie with SameSite=None has to be secure");
    if (of.partitioned && !of.secure)
        fail("a partitioned cookie has to be secure");
    if (begins(of.name, "__Secure-") && !of.secure)
        fail("a cookie whose name begins with __Secure- has to be secure");
    if (begins(of.name, "__Host-") && !(of.secure && of.domain.empty() && of.path == "/")) {
        fail("a cookie whose name begins with __Host- has to be secure, with the path / and "
             "without a domain");
    }
    if (begins(of.name, "__Http-") && !(of.secure && of.http_only))
        fail("a cookie whose name begins with __Http- has to be secure and http_only");
    if (begins(of.name, "__Host-Http-") && !of.http_only)
        fail("a cookie whose name begins with __Host-Http- has to be http_only");
}

} // namespace

std::vector<request_cookie> read_cookies(header_list among) {
    std::vector<request_cookie> all;
    for (const header_field field : among) {
        if (!fields::iequals(field.name, "Cookie"))
            continue;
        std::string_view rest = field.value;
        request_cookie found;
        while (next_cookie(rest, found))
            all.push_back(found);
    }
    return all;
}

std::optional<std::string_view> find_cookie(header_list among, std::string_view name) noexcept {
    for (const header_field field : among) {
        if (!fields::iequals(field.name, "Cookie"))
            continue;
        std::string_view rest = field.value;
        request_cookie found;
        while (next_cookie(rest, found)) {
            if (found.name == name)
                return found.value;
        }
    }
    return std::nullopt;
}

std::string cookie::to_string() const {
    check_pair(*this);
    check_attributes(*this);
    check_together(*this);
    std::string text = name + '=' + value;
    if (expires)
        text += "; Expires=" + http_date(*expires);
    if (max_age)
        text += "; Max-Age=" + std::to_string(max_age->count());
    if (!domain.empty())
        text += "; Domain=" + domain;
    if (!path.empty())
        text += "; Path=" + path;
    if (secure)
        text += "; Secure";
    if (http_only)
        text += "; HttpOnly";
    if (same_site == http::same_site::strict)
        text += "; SameSite=Strict";
    if (same_site == http::same_site::lax)
        text += "; SameSite=Lax";
    if (same_site == http::same_site::none)
        text += "; SameSite=None";
    if (partitioned)
        text += "; Partitioned";
    return text;
}

cookie cookie::removed() const {
    cookie without = *this;
    without.value.clear();
    without.max_age = std::chrono::seconds(0);
    without.expires =
        std::chrono::sys_seconds(std::chrono::seconds(0)); // for those without Max-Age
    return without;
}

} // namespace rota::http
