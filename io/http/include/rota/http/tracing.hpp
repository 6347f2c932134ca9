#pragma once

#include <optional>

#include <rota/http/handler.hpp>
#include <rota/http/trace_context.hpp>
#include <rota/io/network.hpp>

namespace rota::http {

struct tracing_options {
    /// Whose traces are continued: those of clients in these networks, by request::peer(). Nothing:
    /// everybody's.
    std::optional<io::network_list> from{};
    /// Whether those that begin here are marked as recorded.
    bool sampled = false;
};

/// Places each request in a trace (W3C Trace Context, level 1): request::trace(). The one that
/// traceparent names is continued, with tracestate as it came; without a traceparent, or where it
/// is malformed or there are several, another one begins and tracestate is ignored. Nothing is
/// recorded or sent anywhere: that is for a program, which also passes trace()->to_string() on with
/// requests that it makes.
[[nodiscard]] middleware tracing(tracing_options options = {});

} // namespace rota::http
