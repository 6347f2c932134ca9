#pragma once

#include <string_view>

#include <rota/http/response.hpp>
#include <rota/http/router.hpp>

#include "service.hpp"

namespace jobs {

/// Returns the queues of `served`, which outlives the router, as HTTP; to be mounted under "/v1":
///
///     GET    "/openapi.json"             the description of all this, for programs (openapi.json)
///     GET    "/queues"                   every queue with its counts
///
/// and under "/queues":
///
///     GET    "/{queue}"                  settings and counts
///     PUT    "/{queue}"                  sets it
///     DELETE "/{queue}"                  removes it, with all that is in it
///     POST   "/{queue}/jobs"             one job as application/json, many as application/x-ndjson
///     GET    "/{queue}/jobs"             jobs of one state
///     GET    "/{queue}/jobs/{id}"        one job
///     DELETE "/{queue}/jobs/{id}"        removes it
///     POST   "/{queue}/take"             jobs to work on
///     POST   "/{queue}/ack"              what became of them
///     POST   "/{queue}/extend"           more time for them
///     POST   "/{queue}/pause", "/resume", "/purge"
///     GET    "/{queue}/dead"             jobs that have failed too often
///     POST   "/{queue}/dead/{id}/retry"  tries one again
///     POST   "/{queue}/dead/retry"       tries all again, or some
///     POST   "/{queue}/dead/delete"      removes them
///     GET    "/{queue}/events"           what happens, as server-sent events
///
/// Errors are application/problem+json (RFC 9457), also for other paths and methods.
[[nodiscard]] rota::http::router routes(service& served);

/// Returns such an error, for what is put around the routes: see rota::http::router::error(). Its
/// code is the reason phrase: 404 is "not_found".
[[nodiscard]] rota::http::response describe_failure(int status, std::string_view reason);

} // namespace jobs
