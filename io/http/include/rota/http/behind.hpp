#pragma once

#include <rota/http/handler.hpp>

namespace rota::http {

/// Returns a handler with middleware around it alone, as router::use() has it around all of a
/// router: routes.get("/report", http::behind(http::coding(), make_report)). `outer` runs within
/// the middleware of the router.
[[nodiscard]] handler behind(middleware outer, handler inner);

} // namespace rota::http
