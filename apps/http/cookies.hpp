#pragma once

#include <rota/http/router.hpp>

namespace rota_http {

/// Adds GET /cookies, which lists what the client sent, and POST /cookies, which sets one.
void add_cookies(rota::http::router& to);

} // namespace rota_http
