#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rota/http/websocket.hpp>

namespace rota::http::ws {

/// What of a client's offers of permessage-deflate is agreed on.
struct deflate_choice {
    /// The list is not what RFC 6455 section 9.1 has; then there is nothing else.
    bool malformed = false;
    /// Of which the part about compression is set, if anything was chosen.
    std::optional<websocket_terms> terms{};
    /// For Sec-WebSocket-Extensions.
    std::string answer{};
};

/// The first of the offers in `list` (all Sec-WebSocket-Extensions of a request) that can be
/// accepted as RFC 7692 section 7.1 has it. Other extensions are passed over, and so are offers
/// with a parameter that is unknown, repeated, or has a value that it must not have.
[[nodiscard]] deflate_choice choose_deflate(std::string_view list, const websocket_deflate& may);

} // namespace rota::http::ws
