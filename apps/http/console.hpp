#pragma once

#include <memory>

#include <rota/http/guard.hpp>
#include <rota/http/router.hpp>

#include "codings.hpp"

namespace rota_http {

/// Adds the console: the page at / and what it needs at /console/{file}, all of it in the program.
/// The page asks for what debug_routes() at /debug and jobs::routes() at /v1 serve, by paths that
/// are relative to its own, so the whole may be mounted under any prefix that ends there.
///
/// `by` guards it. The page asks for a token where one is needed, so it comes without one, too,
/// with 401 as it must: there is nothing in it, nor in its files, that is not in this program.
/// `coded`: what of it is compressed.
void add_console(rota::http::router& to, std::shared_ptr<const rota::http::guard> by,
                 const codings& coded);

} // namespace rota_http
