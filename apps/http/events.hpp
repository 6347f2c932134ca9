#pragma once

#include <rota/http/router.hpp>

#include "inspection.hpp"

namespace rota_http {

/// Adds GET /events?interval_ms=N&count=M: so many server-sent events, numbered on from the
/// Last-Event-ID that the client has; those that are left when the server drains are for the next
/// one. `of` outlives the router.
void add_events(rota::http::router& to, const inspected& of);

} // namespace rota_http
