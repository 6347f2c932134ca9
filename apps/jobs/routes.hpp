#pragma once

#include <rota/http/router.hpp>

#include "service.hpp"

namespace jobs {

/// The queues of `served`, which outlives the router, as HTTP; to be mounted under a prefix
/// ("/v1/queues"):
///
///     GET  ""                every queue with its counts
///     GET  "/{queue}"        counts, and the first of the queued and of those in progress
///     POST "/{queue}/jobs"   one job as application/json, many as application/x-ndjson
///     POST "/{queue}/take"   jobs to work on
///     POST "/{queue}/ack"    what became of them
///
/// Errors are application/problem+json.
[[nodiscard]] rota::http::router routes(service& served);

} // namespace jobs
