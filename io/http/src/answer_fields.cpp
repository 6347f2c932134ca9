#include "answer_fields.hpp"

#include <string>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/detail/vary.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {

void add_to_vary(headers& to, std::string_view name) {
    std::string all;
    for (std::string_view rest = to.wire(); !rest.empty();) {
        const std::size_t end = rest.find("\r\n");
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 2);
        const std::size_t colon = line.find(':');
        if (!fields::iequals(line.substr(0, colon), "Vary"))
            continue;
        const std::string_view list = fields::trim(line.substr(colon + 1));
        if (fields::list_has(list, name) || fields::list_has(list, "*"))
            return;
        if (!list.empty())
            all.append(list).append(", ");
    }
    if (all.empty())
        to.append_trusted(std::string("Vary: ").append(name).append("\r\n"));
    else
        to.set("Vary", all.append(name));
}

namespace {

constexpr std::string_view allow_origin = "Access-Control-Allow-Origin";
constexpr std::string_view allow_credentials = "Access-Control-Allow-Credentials";

/// The value of a line that ends in CRLF.
std::string_view value_of(std::string_view line, std::size_t colon) noexcept {
    return line.substr(colon + 2, line.size() - colon - 4);
}

std::string line_of(std::string_view name, std::string_view value) {
    return std::string(name).append(": ").append(value).append("\r\n");
}

} // namespace

void add_missing_fields(headers& to, std::string_view lines) {
    std::string_view granted; // the origin that the lines are for
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n') + 1;
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(end);
        const std::size_t colon = line.find(": ");
        const std::string_view name = line.substr(0, colon);
        if (fields::iequals(name, "Vary"))
            add_to_vary(to, value_of(line, colon));
        else if (!to.find(name) && (name != allow_credentials || to.find(allow_origin) == granted))
            to.append_trusted(line);
        if (name == allow_origin)
            granted = value_of(line, colon);
    }
}

// All of a line is added, or nothing.

void promise_field(request& of, std::string_view name, std::string_view value) {
    const std::string line = line_of(name, value);
    request_access::facts(of).answer_fields += line;
}

void promise_field_instead(request& of, std::string_view name, std::string_view value) {
    const std::string line = line_of(name, value);
    request_access::facts(of).answer_fields.insert(0, line); // the first counts
}

void withdraw_field(request& of, std::string_view name) {
    const request_facts* const known = request_access::known_facts(of);
    if (known == nullptr)
        return;
    std::string& lines = request_access::facts(of).answer_fields;
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = lines.find('\n', at) + 1;
        if (fields::iequals(std::string_view(lines).substr(at, lines.find(':', at) - at), name))
            lines.erase(at, end - at);
        else
            at = end;
    }
}

} // namespace rota::http
