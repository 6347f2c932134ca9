#pragma once

#include <rota/http/router.hpp>
#include <rota/http/server.hpp>

#include "settings.hpp"

namespace rota_http {

/// Has requests say what trusted proxies say of them, where `from` has such. Before other
/// middleware.
void trust_proxies(rota::http::router& to, const settings& from);

/// Requests for https in clear, of trusted proxies; the PROXY protocol, where `from` has it: of
/// these, or of whatever is on this machine if there are none.
void add_proxies(rota::http::server_options& to, const settings& from);

} // namespace rota_http
