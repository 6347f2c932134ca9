#pragma once

#include <chrono>

#include <rota/http/server.hpp>
#include <rota/task.hpp>

#include "settings.hpp"

namespace rota_http {

/// HTTPS, where `from` has it. An OCSP response in CERTIFICATE.ocsp is stapled.
void add_tls(rota::http::server_options& to, const settings& from);

/// Answers in clear say where the same is to be had otherwise (Alt-Svc, RFC 7838), where `from`
/// has it.
void add_alternatives(rota::http::router& to, const settings& from);

/// Looks at the files every `interval`, reads them again if one has changed, and says in the log
/// what came of it. Ends by a stop request. `of` outlives the task.
[[nodiscard]] rota::task<void> watch_certificates(rota::http::server* of,
                                                  std::chrono::milliseconds interval);

/// SIGHUP: reads the files again, and says in the log what came of it.
void reload_certificates(rota::http::server& of) noexcept;

} // namespace rota_http
