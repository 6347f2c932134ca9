#include <rota/http/trusted_proxies.hpp>

#include <memory>
#include <utility>
#include <vector>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/error.hpp>
#include <rota/http/fields.hpp>
#include <rota/http/forwarded.hpp>

#include "answers.hpp"
#include "authority.hpp"
#include "known_peer.hpp"

namespace rota::http {
namespace {

bool is_https(std::string_view proto) {
    if (fields::iequals(proto, "https") || fields::iequals(proto, "wss"))
        return true;
    if (fields::iequals(proto, "http") || fields::iequals(proto, "ws"))
        return false;
    throw http_error(400, "a proxy said a scheme that is neither http nor https");
}

std::string checked_host(std::string_view host) {
    if (!detail::parse_authority(host))
        throw http_error(400, "a proxy said a host that is none");
    return std::string(host);
}

/// The steps of a way, the client's first; empty ones are none.
std::vector<std::string_view> steps_in(std::string_view list) {
    std::vector<std::string_view> steps;
    while (!list.empty()) {
        const std::string_view step = fields::next_list_item(list);
        if (!step.empty())
            steps.push_back(step);
    }
    return steps;
}

/// Goes back over `count` steps, of which `step(i)` has the text, while they are proxies. The
/// number of the step that is the client; `count` if there is none.
template <class Step>
std::size_t walk_back(std::size_t count, const io::network_list& from, bool bare, Step step,
                      std::optional<std::string>& peer) {
    std::size_t at = count;
    while (at > 0) {
        --at;
        const std::string_view from_whom = step(at);
        if (from_whom.empty()) // it does not say
            break;
        const auto node = parse_forwarded_node(from_whom, bare);
        if (!node)
            throw http_error(400, "a proxy said an address that is none");
        peer = node->to_string();
        if (!node->address || !from.contains(*node->address))
            break;
    }
    return at;
}

/// What a list of its own says of step `at` of `count`: proxies add to it, or overwrite it.
std::optional<std::string_view> value_of(std::string_view list, std::size_t at, std::size_t count) {
    const std::vector<std::string_view> all = steps_in(list);
    if (all.empty())
        return std::nullopt;
    return all.size() == count && at < count ? all[at] : all.back();
}

request_origin from_x_forwarded(header_list fields, const trusted_proxies_options& by) {
    request_origin found;
    const std::string list = fields::joined(fields, "X-Forwarded-For").value_or("");
    const std::vector<std::string_view> steps = steps_in(list);
    const std::size_t at = walk_back(
        steps.size(), by.from, true, [&](std::size_t i) { return steps[i]; }, found.peer);
    if (const auto protos = fields::joined(fields, "X-Forwarded-Proto")) {
        if (const auto proto = value_of(*protos, at, steps.size()))
            found.secure = is_https(*proto);
    }
    if (!by.host)
        return found;
    if (const auto hosts = fields::joined(fields, "X-Forwarded-Host")) {
        if (const auto host = value_of(*hosts, at, steps.size()))
            found.host = checked_host(*host);
    }
    return found;
}

request_origin from_forwarded(header_list fields, const trusted_proxies_options& by) {
    request_origin found;
    const auto list = fields::joined(fields, "Forwarded");
    if (!list)
        return found;
    const auto steps = parse_forwarded(*list);
    if (!steps)
        throw http_error(400, "Forwarded is malformed");
    const auto step = [&](std::size_t i) -> std::string_view { return (*steps)[i].from; };
    const std::size_t at = walk_back(steps->size(), by.from, false, step, found.peer);
    if (at == steps->size())
        return found;
    const forwarded_element& client = (*steps)[at];
    if (!client.proto.empty())
        found.secure = is_https(client.proto);
    if (by.host && !client.host.empty())
        found.host = checked_host(client.host);
    return found;
}

bool has_x_forwarded(header_list fields) noexcept {
    return fields.find("X-Forwarded-For") || fields.find("X-Forwarded-Proto") ||
           fields.find("X-Forwarded-Host");
}

struct proxies_state {
    trusted_proxies_options options;
    error_page page;
};

task<response> proceed_as_said(const proxies_state* self, request& req, next proceed) {
    try {
        request_origin found = find_origin(req.peer(), req.headers(), self->options);
        if (found.peer || found.host || found.secure) {
            request_facts& facts = request_access::facts(req);
            facts.peer = std::move(found.peer);
            facts.host = std::move(found.host);
            facts.secure = found.secure;
        }
    } catch (const http_error& why) {
        return ready_task(error_answer(self->page ? &self->page : nullptr, why));
    }
    return proceed(req);
}

} // namespace

request_origin find_origin(std::string_view peer, header_list fields,
                           const trusted_proxies_options& by) {
    if (!is_of(peer, by.from))
        return {};
    proxy_fields kind = by.fields;
    if (kind == proxy_fields::either) {
        const bool standard = fields.find("Forwarded").has_value();
        if (standard && has_x_forwarded(fields))
            throw http_error(400, "there are both Forwarded and X-Forwarded fields");
        kind = standard ? proxy_fields::forwarded : proxy_fields::x_forwarded;
    }
    return kind == proxy_fields::forwarded ? from_forwarded(fields, by)
                                           : from_x_forwarded(fields, by);
}

middleware trusted_proxies(trusted_proxies_options options, error_page page) {
    auto self =
        std::make_shared<const proxies_state>(proxies_state{std::move(options), std::move(page)});
    return [self = std::move(self)](request& req, next proceed) {
        return proceed_as_said(self.get(), req, proceed);
    };
}

} // namespace rota::http
