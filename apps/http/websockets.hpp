#pragma once

#include <functional>

#include <rota/http/router.hpp>

#include "settings.hpp"

namespace rota_http {

/// Adds GET /ws/echo: a WebSocket that sends back what comes, of the subprotocol "echo" if the
/// client speaks it; and GET /ws/chat?room=R: what one in a room says all others there get, and one
/// that does not read is cut off. `return_memory` is called on a worker behind large messages.
void add_websockets(rota::http::router& to, const settings& from,
                    std::function<void()> return_memory);

} // namespace rota_http
