#pragma once

#include <exception>
#include <stop_token>
#include <string>

#include <rota/http/error.hpp>
#include <rota/http/hooks.hpp>
#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/http/router.hpp>

namespace rota::http {

/// The answer to a request that cannot be served: the failure's own, or what `page` makes of it;
/// without one, or if that streams, a short text with the reason. Throws what the page throws.
[[nodiscard]] response error_answer(const error_page* page, const http_error& failure);

/// What is to be told of what a handler threw: http_error says it itself, anything else is reported
/// and becomes a 500 that tells the client nothing. Rethrows what ends the session instead:
/// operation_cancelled if `stop` has been requested, and failures of a client that is gone.
[[nodiscard]] http_error failure_of(const std::exception_ptr& error, const request& req,
                                    const std::stop_token& stop, bool client_gone,
                                    const session_hooks* hooks);

/// Reports what a handler threw.
void report(const std::exception_ptr& error, const request& req,
            const session_hooks* hooks) noexcept;
/// Reports that an answer was cut since its file changed.
void report_changed_file(const request& req, const session_hooks* hooks) noexcept;
/// Its method and path, for a report.
[[nodiscard]] std::string name_of(const request& asked);
/// Reports what something else of the program's threw: "error page", "on_access".
void report_thrown(std::string_view by, const std::exception_ptr& error,
                   const session_hooks* hooks) noexcept;

} // namespace rota::http
