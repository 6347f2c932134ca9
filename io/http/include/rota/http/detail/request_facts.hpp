#pragma once

#include <optional>
#include <string>

#include <rota/http/trace_context.hpp>

namespace rota::http {

/// What middleware has found out about a request, which the request then says: what is not there
/// is as the connection and the head have it. Made when the first of it is known.
struct request_facts {
    // Of trusted_proxies().
    std::optional<std::string> peer;
    std::optional<std::string> host;
    std::optional<bool> secure;

    std::string id;                     // of request_id()
    std::optional<trace_context> trace; // of tracing()
    std::string user;                   // of basic_auth(), bearer_auth()

    /// Fields that any answer to it is to have, unless it has them by itself: lines as
    /// headers::wire() has them, well-formed. Vary is added to what there is of it.
    std::string answer_fields;
};

} // namespace rota::http
