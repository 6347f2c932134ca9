#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/handler.hpp>
#include <rota/http/router.hpp>

namespace rota::http {

struct cors_options {
    /// "https://app.example", as is_origin() requires, compared as they are; or "*", for all.
    std::vector<std::string> origins{};
    /// Called, if set, for other origins. Any worker; must not wait.
    std::function<bool(std::string_view origin)> allowed{};
    std::vector<std::string> methods{"GET", "HEAD", "POST"};
    /// Fields of requests, beside those that need no permission; "*": whichever are asked for.
    std::vector<std::string> fields{};
    /// Fields of answers that scripts may read beside the usual ones.
    std::vector<std::string> exposed{};
    /// Cookies and the like may come along. Not with "*", except in `fields`.
    bool credentials = false;
    std::chrono::seconds max_age{600}; ///< how long browsers may rely on it; 0: not at all
};

/// Lets pages of other origins read answers (WHATWG Fetch, "CORS protocol"). A preflight is
/// answered here, 204, or 403 by `page` for an origin that is not allowed, and never reaches a
/// handler; it is an OPTIONS, so where this is behind() one handler, that of OPTIONS needs it, too.
/// Other requests go on whatever their origin is: what they may change is for a guard.
///
/// All answers have the fields, errors among them, and Vary: Origin where they depend on it; with
/// "*" they do not, and have them whether or not an Origin came. An answer keeps an
/// Access-Control-Allow-Origin of its own, and then has no permission for credentials that was for
/// another. If one is within another, the inner one decides, but the outer one answers preflights.
///
/// Throws std::invalid_argument for credentials with "*" except in `fields`, or with the origin
/// "null", which any page can have, for what is not an origin (is_origin()), if none is allowed,
/// for a negative max_age, and for what no field can hold.
[[nodiscard]] middleware cors(cors_options options, error_page page = {});

} // namespace rota::http
