#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/http/websocket.hpp>

namespace rota::http::ws {

/// What a handshake comes to, and the fields that say so.
struct agreement {
    websocket_terms terms;
    std::string accept;     // Sec-WebSocket-Accept
    std::string extensions; // Sec-WebSocket-Extensions; empty: none
};

/// Looks at a request (RFC 6455 section 4.2.1): what is agreed on, or the answer that says why
/// nothing is.
[[nodiscard]] std::variant<agreement, response> shake_hands(const request& asked,
                                                            const websocket_options& options);

/// Sec-WebSocket-Accept of a Sec-WebSocket-Key (section 4.2.2).
[[nodiscard]] std::string accept_of(std::string_view key);

/// The options, with times that can be added to the clock's. Throws std::invalid_argument for what
/// is out of range.
[[nodiscard]] websocket_options sensible(websocket_options options);

} // namespace rota::http::ws
