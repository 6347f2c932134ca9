#pragma once

#include <memory>

#include <rota/http/access_log.hpp>
#include <rota/http/router.hpp>
#include <rota/http/server.hpp>

#include "settings.hpp"

namespace rota_http {

/// The access log that `from` asks for, or null. Throws std::system_error.
[[nodiscard]] std::shared_ptr<rota::http::access_log> open_access_log(const settings& from);

/// Has each answered request in the log of the program, where `from` says so, and in `file` unless
/// it is null.
void log_requests(rota::http::session_hooks& to, const settings& from,
                  const std::shared_ptr<rota::http::access_log>& file);

/// Request ids and traces, where `from` has them. After trust_proxies().
void track_requests(rota::http::router& to, const settings& from);

} // namespace rota_http
