#pragma once

#include <rota/http/router.hpp>

namespace rota_http {

/// Adds the console: the page at / and what it needs at /console/{file}, all of it in the program.
/// The page asks for what add_inspection() and jobs::routes() under /v1 serve, by paths that
/// are relative to its own, so the whole may be mounted under any prefix that ends there.
void add_console(rota::http::router& to);

} // namespace rota_http
