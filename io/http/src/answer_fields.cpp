#include "answer_fields.hpp"

#include <string>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/fields.hpp>

namespace rota::http {

void add_to_vary(headers& to, std::string_view name) {
    const auto found = to.find("Vary");
    if (!found) {
        to.append_trusted(std::string("Vary: ").append(name).append("\r\n"));
        return;
    }
    if (fields::list_has(*found, name) || fields::list_has(*found, "*"))
        return;
    to.set("Vary", std::string(*found).append(", ").append(name));
}

void add_missing_fields(headers& to, std::string_view lines) {
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n') + 1;
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(end);
        const std::size_t colon = line.find(": ");
        const std::string_view name = line.substr(0, colon);
        if (fields::iequals(name, "Vary"))
            add_to_vary(to, line.substr(colon + 2, line.size() - colon - 4));
        else if (!to.find(name))
            to.append_trusted(line);
    }
}

void promise_field(request& of, std::string_view name, std::string_view value) {
    request_access::facts(of).answer_fields.append(name).append(": ").append(value).append("\r\n");
}

} // namespace rota::http
