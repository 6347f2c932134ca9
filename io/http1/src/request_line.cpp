#include "request_line.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <rota/http/percent.hpp>

#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {
namespace {

constexpr parse_error malformed{400, "malformed request line"};
constexpr parse_error bad_target{400, "malformed request target"};

text_span span_of(const request_head& head, std::string_view part) noexcept {
    return {static_cast<std::uint32_t>(part.data() - head.base),
            static_cast<std::uint32_t>(part.size())};
}

/// The part behind "http://" or "https://", or nothing if the target starts with neither.
std::string_view after_scheme(std::string_view target) noexcept {
    for (std::string_view scheme : {"http://", "https://"}) {
        if (fields::iequals(target.substr(0, scheme.size()), scheme)) {
            return target.substr(scheme.size());
        }
    }
    return {};
}

check_result set_path_and_query(std::string_view text, request_head& head) {
    std::size_t end = 0;
    bool escaped = false;
    for (; end < text.size() && text[end] != '?'; ++end)
        escaped |= text[end] == '%';
    const std::string_view path = text.substr(0, end);
    head.path = span_of(head, path);
    if (end < text.size())
        head.query = span_of(head, text.substr(end + 1));
    head.path_escaped = escaped;
    if (escaped && !valid_escapes(path)) {
        return has_escaped_nul(path) ? parse_error{404, "no path here has a NUL in it"}
                                     : parse_error{400, "bad percent-encoding in the path"};
    }
    return std::nullopt;
}

/// Takes the targets that nearly every request has; false, with nothing done, for any other.
bool take_plain_target(std::string_view target, request_head& head) {
    if (target.front() != '/')
        return false;
    std::size_t end = 1;
    while (end < target.size() && syntax::is_path_char(target[end]))
        ++end;
    std::size_t query_end = end;
    if (end < target.size()) {
        if (target[end] != '?')
            return false;
        for (++query_end; query_end < target.size(); ++query_end) {
            const char c = target[query_end];
            if (!syntax::is_path_char(c) && c != '?' && c != '%')
                return false;
        }
        head.query = span_of(head, target.substr(end + 1));
    }
    head.form = target_form::origin;
    head.target = span_of(head, target);
    head.path = span_of(head, target.substr(0, end));
    return true;
}

check_result parse_absolute(std::string_view target, request_head& head) {
    const std::string_view rest = after_scheme(target);
    const std::size_t end = rest.find_first_of("/?");
    const std::string_view authority = rest.substr(0, end);
    if (authority.empty() || !valid_host(authority))
        return bad_target;
    constexpr std::size_t s_of_https = 4;
    head.form = target_form::absolute;
    head.of_https = target[s_of_https] != ':';
    head.host = span_of(head, authority);
    if (end == std::string_view::npos) {
        head.path = span_of(head, rest.substr(rest.size()));
        // RFC 9112 section 3.2.4: without a path this is how a proxy is asked for "OPTIONS *".
        if (head.method == method::options)
            head.form = target_form::asterisk;
        return std::nullopt;
    }
    return set_path_and_query(rest.substr(end), head);
}

check_result parse_authority(std::string_view target, request_head& head) {
    const std::size_t colon = target.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == target.size() || !valid_host(target)) {
        return bad_target;
    }
    head.form = target_form::authority;
    head.host = span_of(head, target);
    return std::nullopt;
}

void note_method(std::optional<method> known, std::string_view name, request_head& head) {
    head.method = known.value_or(method::other);
    if (!known)
        head.unknown_method = span_of(head, name);
}

check_result parse_target(std::string_view target, request_head& head, bool& plain) {
    plain = head.method != method::connect && take_plain_target(target, head);
    if (plain)
        return std::nullopt;
    for (const char c : target) {
        if (c == ' ')
            return malformed;
        if (c == '#' || static_cast<unsigned char>(c) >= 0x80)
            return bad_target;
    }
    if (head.method == method::connect)
        return parse_authority(target, head);
    if (target.front() == '/') {
        head.form = target_form::origin;
        return set_path_and_query(target, head);
    }
    if (target == "*") {
        if (head.method != method::options && head.method != method::other)
            return bad_target;
        head.form = target_form::asterisk;
        head.path = head.target;
        return std::nullopt;
    }
    return parse_absolute(target, head);
}

} // namespace

void show_long_request_line(std::string_view line, request_head& head) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, space);
    if (space == line.size() || !fields::is_token(name))
        return;
    const std::string_view rest = line.substr(space + 1);
    head.target = span_of(head, rest.substr(0, rest.find(' ')));
    note_method(parse_method(name), name, head);
}

bool take_plain_request_line(std::string_view line, request_head& head) {
    constexpr std::string_view start = "GET ";
    constexpr std::string_view end = " HTTP/1.1\r\n";
    if (line.size() <= start.size() + end.size() || !line.starts_with(start) ||
        !line.ends_with(end)) {
        return false;
    }
    line.remove_prefix(start.size());
    line.remove_suffix(end.size());
    if (!take_plain_target(line, head))
        return false;
    head.minor = 1;
    head.method = method::get;
    return true;
}

check_result parse_request_line(std::string_view line, request_head& head, bool& plain) {
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == last)
        return malformed; // none at all, or no version: HTTP/0.9
    const std::string_view name = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    if (!fields::is_token(name) || target.empty() || target.find(' ') != std::string_view::npos)
        return malformed;
    if (version.size() != 8 || !version.starts_with("HTTP/") || !syntax::is_digit(version[5]) ||
        version[6] != '.' || !syntax::is_digit(version[7])) {
        return malformed;
    }
    const auto known = parse_method(name);
    head.target = span_of(head, target);
    note_method(known, name, head);
    if (version[5] != '1') {
        if (target.front() == '/') // says whose error page tells of it
            (void)set_path_and_query(target, head);
        return parse_error{505, "this connection speaks HTTP/1.1 and HTTP/1.0"};
    }
    if (!known)
        head.unfit = 501;
    // RFC 9110 section 2.5: a higher minor version is answered as the highest that is known.
    head.minor = version[7] == '0' ? 0 : 1;
    return parse_target(target, head, plain);
}

} // namespace rota::http
