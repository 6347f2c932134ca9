// Cookies: those that come, against a plain reading; those that are set, against what a browser
// makes of the field (RFC 6265 section 5.2).
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <rota/http/cookie.hpp>
#include <rota/http/request_head.hpp>

#include "target.hpp"

namespace {

using namespace rota::http;
using rota::fuzz::require;
using rota::fuzz::require_equal;

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == at)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

std::string trimmed(const std::string& text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Fields of this name, one for each line.
void check_read(std::string_view text) {
    const std::string base = "cookie" + std::string(text);
    std::vector<field_span> spans;
    std::vector<std::pair<std::string, std::string>> expected;
    std::uint32_t at = 6;
    for (const std::string& line : split(text, '\n')) {
        const auto size = static_cast<std::uint32_t>(line.size());
        spans.push_back({{0, 6}, {at, size}});
        at += size + 1;
        for (const std::string& part : split(line, ';')) {
            const std::string pair = trimmed(part);
            const std::size_t equals = pair.find('=');
            if (pair.empty())
                continue;
            if (equals == std::string::npos)
                expected.emplace_back("", pair);
            else
                expected.emplace_back(trimmed(pair.substr(0, equals)),
                                      trimmed(pair.substr(equals + 1)));
        }
    }
    const header_list fields(base.data(), spans);
    const std::vector<request_cookie> all = read_cookies(fields);
    require(all.size() == expected.size(), "as many cookies", text);
    std::map<std::string, std::string, std::less<>> first;
    for (std::size_t i = 0; i < all.size(); ++i) {
        require_equal(all[i].name, expected[i].first, "the name of a cookie");
        require_equal(all[i].value, expected[i].second, "the value of a cookie");
        first.emplace(expected[i].first, expected[i].second);
    }
    for (const auto& [name, value] : first)
        require_equal(find_cookie(fields, name).value_or("none"), value, "the first of a name");
}

/// Whatever is in its members, there is this cookie and no other, with no attribute of theirs.
void check_set(std::string_view text, unsigned choice) {
    std::vector<std::string> lines = split(text, '\n');
    lines.resize(4);
    cookie one{.name = lines[0], .value = lines[1], .domain = lines[2], .path = lines[3]};
    one.secure = choice % 2 != 0;
    one.http_only = choice / 2 % 2 != 0;
    one.same_site = static_cast<same_site>(choice / 4 % 4);
    if (choice / 16 % 2 != 0)
        one.max_age = std::chrono::seconds(choice);
    std::string field;
    try {
        field = one.to_string();
    } catch (const std::invalid_argument& e) {
        require(std::string_view(e.what()).size() > 20, "a sentence", text);
        return;
    }
    require(std::ranges::all_of(field, [](char c) { return c >= ' ' && c < 0x7f; }),
            "nothing but US-ASCII without controls", field);
    const std::vector<std::string> parts = split(field, ';');
    require_equal(parts[0], one.name + '=' + one.value, "the pair");
    std::size_t expected = 1;
    const auto has = [&](bool wanted, const std::string& attribute) {
        const bool there = std::ranges::find(parts, ' ' + attribute) != parts.end();
        require(there == wanted, "an attribute", field, attribute);
        expected += wanted ? 1 : 0;
    };
    has(one.secure, "Secure");
    has(one.http_only, "HttpOnly");
    has(!one.domain.empty(), "Domain=" + one.domain);
    has(!one.path.empty(), "Path=" + one.path);
    has(one.max_age.has_value(), "Max-Age=" + std::to_string(choice));
    has(one.same_site == same_site::strict, "SameSite=Strict");
    has(one.same_site == same_site::lax, "SameSite=Lax");
    has(one.same_site == same_site::none, "SameSite=None");
    require(parts.size() == expected, "no further attribute", field);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    check_read(in.text);
    check_set(in.text, in.choice);
    return 0;
}
