#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rota/http/handler.hpp>
#include <rota/io/network.hpp>

namespace rota::http {

struct request_id_options {
    std::string field = "X-Request-Id"; ///< of requests and answers
    /// Whose ids are accepted: those of proxies in these networks (by request::peer(), so before
    /// trusted_proxies() has replaced it). Nothing: everybody's.
    std::optional<io::network_list> from{};
};

/// Gives each request a name, request::id(), and sends it in the answer, an error's, too: the one
/// that came in the field, if it is well-formed (is_request_id()) and came once, else a new one. A
/// program passes it on with requests that it makes, and writes it in its log. Throws
/// std::invalid_argument for a name that no field can have, or that belongs to the message's
/// framing or the connection (Content-Length, Date, Host, ...).
[[nodiscard]] middleware request_id(request_id_options options = {});

/// Returns whether it is 1 to 128 letters, digits and "-_.~+/=:@": nothing that could mean
/// something in a log or a page.
[[nodiscard]] bool is_request_id(std::string_view text) noexcept;

/// Returns a new one: 128 random bits, hexadecimal. Not a secret: it can be guessed from others.
[[nodiscard]] std::string make_request_id();

} // namespace rota::http
