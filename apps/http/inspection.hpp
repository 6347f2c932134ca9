#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rota/http/metrics.hpp>
#include <rota/http/router.hpp>
#include <rota/http/server.hpp>
#include <rota/io/context.hpp>
#include <rota/runtime.hpp>

#include "jobs/service.hpp"

namespace rota_http {

/// What the pages about the server look at. The pointers are set before the first request and
/// outlive the last.
struct inspected {
    rota::io::context* context = nullptr;
    rota::http::server* server = nullptr;
    const jobs::service* queues = nullptr;
};

/// Adds /metrics, /healthz and /debug/tasks. `of` outlives the router.
void add_inspection(rota::http::router& to, const inspected& of);

// How these pages are written, apart from where the figures come from.

struct figures {
    rota::http::metrics_snapshot http{};
    std::vector<rota::worker_status> workers{};
    std::size_t routines = 0;
    std::size_t blocked = 0;
    std::vector<jobs::queue_summary> queues{};
    std::uint64_t leases_expired = 0;
};
/// In the Prometheus text format, version 0.0.4.
[[nodiscard]] std::string metrics_text(const figures& f);

/// {"routines", "blocked": [...], "truncated", "workers": [...]}, with `limit` of the blocked.
[[nodiscard]] std::string tasks_json(const std::vector<rota::blocked_routine>& blocked,
                                     const std::vector<rota::worker_status>& workers,
                                     std::size_t routines, std::size_t limit,
                                     std::chrono::steady_clock::time_point now);

} // namespace rota_http
