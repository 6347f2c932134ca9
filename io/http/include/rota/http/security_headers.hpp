#pragma once

#include <string>

#include <rota/http/handler.hpp>

namespace rota::http {

/// What browsers are told in all answers of a server. An empty text: that field is not sent.
struct security_headers_options {
    /// Only in answers by TLS (request::secure()), where alone it counts (RFC 6797 section 7.2).
    std::string strict_transport_security = "max-age=31536000";
    std::string content_security_policy =
        "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; "
        "object-src 'none'";
    std::string referrer_policy = "strict-origin-when-cross-origin";
    std::string permissions_policy = "camera=(), geolocation=(), microphone=()";
    std::string x_frame_options = "DENY";
    std::string cross_origin_opener_policy = "same-origin";
    std::string cross_origin_resource_policy = "same-origin";
    bool nosniff = true; ///< X-Content-Type-Options
};

/// Gives every answer these fields, errors among them, unless it has one of that name already.
/// Throws std::invalid_argument for what no field can hold.
[[nodiscard]] middleware security_headers(const security_headers_options& options = {});

} // namespace rota::http
