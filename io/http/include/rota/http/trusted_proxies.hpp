#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/handler.hpp>
#include <rota/http/request_head.hpp>
#include <rota/http/router.hpp>
#include <rota/io/network.hpp>

namespace rota::http {

/// The fields in which proxies name the client.
enum class proxy_fields : std::uint8_t {
    x_forwarded, ///< X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host
    forwarded,   ///< Forwarded (RFC 7239)
    either,      ///< one of both kinds; requests with both are a 400, since a client may have sent
                 ///< the one that its proxy knows nothing of
};

struct trusted_proxies_options {
    /// Where proxies are. What others say of themselves in these fields is never looked at.
    io::network_list from{};
    /// A proxy has to set or remove all fields of the chosen kind: those that it lets pass are the
    /// client's own.
    proxy_fields fields = proxy_fields::x_forwarded;
    /// Whether request::host() is what the proxy was asked for.
    bool host = true;
};

/// What proxies say of a request; nothing where they say nothing.
struct request_origin {
    std::optional<std::string> peer{};
    std::optional<std::string> host{};
    std::optional<bool> secure{};
};

/// Follows the way of a request back from `peer`: as long as a step is a proxy of `by.from`, what
/// it says of the one before it counts. Throws http_error(400) for what a proxy would not say. Any
/// thread.
[[nodiscard]] request_origin find_origin(std::string_view peer, header_list fields,
                                         const trusted_proxies_options& by);

/// Makes request::peer(), host() and secure() return what find_origin() finds. To be used first, by
/// the outermost router: routes.use(http::trusted_proxies({.from =
/// io::network_list({"10.0.0.0/8"})})). `page` makes the 400, without it a line of text does.
[[nodiscard]] middleware trusted_proxies(trusted_proxies_options options, error_page page = {});

} // namespace rota::http
