#include <rota/http/request_id.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/headers.hpp>

#include "answer_fields.hpp"
#include "known_peer.hpp"
#include "random_hex.hpp"

namespace rota::http {
namespace {

constexpr std::size_t id_bytes_max = 128;
constexpr auto id_chars = fields::detail::make_class("-_.~+/=:@");

/// The one that came; empty if there is none that will do.
std::string_view taken_id(const request& req, const request_id_options& options) {
    std::optional<std::string_view> found;
    for (const header_field field : req.headers()) {
        if (!fields::iequals(field.name, options.field))
            continue;
        if (found) // which?
            return {};
        found = field.value;
    }
    const bool taken = found && is_request_id(*found) && is_of(req.peer(), options.from);
    return taken ? *found : std::string_view();
}

/// Throws for what is no name, and for fields that the server or the connection has by itself.
void check_name(std::string_view name) {
    headers().add(name, "");
    for (const std::string_view other :
         {"Date", "Expect", "Host", "Proxy-Connection", "TE", "Trailer", "Upgrade"}) {
        if (fields::iequals(name, other))
            throw std::invalid_argument("request_id(): " + std::string(name) +
                                        " has a meaning of its own");
    }
}

} // namespace

bool is_request_id(std::string_view text) noexcept {
    return !text.empty() && text.size() <= id_bytes_max && std::ranges::all_of(text, [](char c) {
        return id_chars[static_cast<unsigned char>(c)];
    });
}

std::string make_request_id() {
    std::string id(32, '\0');
    fill_random_hex(id);
    return id;
}

middleware request_id(request_id_options options) {
    check_name(options.field);
    return [options = std::move(options)](request& req, next proceed) {
        std::string& id = request_access::facts(req).id;
        const std::string_view taken = taken_id(req, options);
        id = taken.empty() ? make_request_id() : std::string(taken);
        promise_field(req, options.field, id);
        return proceed(req);
    };
}

} // namespace rota::http
