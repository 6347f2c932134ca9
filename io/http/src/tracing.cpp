#include <rota/http/tracing.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/fields.hpp>

#include "known_peer.hpp"
#include "random_hex.hpp"

namespace rota::http {
namespace {

/// A list of more members is none (level 1, section 3.3.1.1), and one of more bytes than this (at
/// least 512 are to be passed on) is left out.
constexpr std::size_t state_bytes_max = 4'096;
constexpr std::size_t state_members_max = 32;

std::string state_of(const request& req) {
    std::string state = fields::joined(req.headers(), "tracestate").value_or("");
    const auto members = static_cast<std::size_t>(std::ranges::count(state, ',')) + 1;
    if (state.size() > state_bytes_max || members > state_members_max)
        state.clear();
    return state;
}

/// The one that the client goes on with, if it is one.
std::optional<trace_context> taken_trace(const request& req, const tracing_options& options) {
    std::optional<std::string_view> found;
    for (const header_field field : req.headers()) {
        if (!fields::iequals(field.name, "traceparent"))
            continue;
        if (found)
            return std::nullopt;
        found = field.value;
    }
    if (!found || !is_of(req.peer(), options.from))
        return std::nullopt;
    auto taken = parse_traceparent(*found);
    if (taken)
        taken->state = state_of(req);
    return taken;
}

trace_context new_trace(bool sampled) {
    trace_context made;
    fill_random_hex(made.trace_id);
    made.parent_id.fill('0');
    made.sampled = sampled;
    return made;
}

} // namespace

middleware tracing(tracing_options options) {
    return [options = std::move(options)](request& req, next proceed) {
        std::optional<trace_context> trace = taken_trace(req, options);
        if (!trace)
            trace = new_trace(options.sampled);
        fill_random_hex(trace->span_id);
        request_access::facts(req).trace = std::move(trace);
        return proceed(req);
    };
}

} // namespace rota::http
