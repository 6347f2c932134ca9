#pragma once

#include <rota/http/router.hpp>

#include "inspection.hpp"

namespace rota_http {

/// Adds /live: server-sent events, each with what live_text() says, one a second for as long
/// as there are clients; all clients share them. Ends with an event "drain" when the server drains.
/// `of` outlives the router.
void add_live(rota::http::router& to, const inspected& of);

} // namespace rota_http
