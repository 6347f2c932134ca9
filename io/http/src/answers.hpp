#pragma once

#include <exception>
#include <stop_token>

#include <rota/http/request.hpp>
#include <rota/http/response.hpp>
#include <rota/http/router.hpp>
#include <rota/http/session.hpp>

namespace rota::http {

/// The answer to a request that cannot be served: what `page` makes of it; without one, or if it
/// throws or streams, a short text with the reason.
[[nodiscard]] response error_answer(const error_page* page, int status, const char* reason);

/// The answer to what a handler threw: http_error says it itself, anything else is reported and
/// becomes a 500 that tells the client nothing. Rethrows what ends the session instead:
/// operation_cancelled if `stop` has been requested, and failures of a client that is gone.
[[nodiscard]] response answer_to(const std::exception_ptr& error, const request& req,
                                 const error_page* page, const std::stop_token& stop,
                                 bool client_gone, const session_hooks* hooks);

/// Reports what a handler threw.
void report(const std::exception_ptr& error, const request& req,
            const session_hooks* hooks) noexcept;

} // namespace rota::http
