#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/trace_context.hpp>

namespace rota::http {

/// What middleware has found out about a request, and the request then returns: where something is
/// missing, the connection and the head decide. Made when the first of it is known.
struct request_facts {
    // Of trusted_proxies().
    std::optional<std::string> peer;
    std::optional<std::string> host;
    std::optional<bool> secure;

    std::string id;                     // of request_id()
    std::optional<trace_context> trace; // of tracing()
    std::string user;                   // of basic_auth(), bearer_auth()

    /// Set by coding(), if the request has If-Range: whether it would code a whole file of this
    /// type and size for this client. Then a date is not of the bytes alone (RFC 9110 section
    /// 8.8.2.2).
    std::function<bool(std::string_view type, std::uint64_t size)> would_code{};

    /// Fields that any answer to it is to have, unless it has them already: lines as
    /// headers::wire() returns, well-formed. Vary is added to what there is of it.
    std::string answer_fields;
};

} // namespace rota::http
