#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rota/blocked_tasks.hpp>
#include <rota/http/metrics.hpp>
#include <rota/http/router.hpp>
#include <rota/http/server.hpp>
#include <rota/io/context.hpp>
#include <rota/runtime.hpp>
#include <rota/task.hpp>

#include "jobs/service.hpp"

namespace rota_http {

/// What the pages about the server look at. The pointers are set before the first request and
/// outlive the last.
struct inspected {
    rota::io::context* context = nullptr;
    rota::http::server* server = nullptr;
    jobs::service* queues = nullptr;
};

/// Adds /metrics, /healthz and /readyz, which are for everybody. `of` outlives the router.
void add_inspection(rota::http::router& to, const inspected& of);
/// /tasks and /live, to be mounted at /debug: what clients and handlers do, which is not for
/// everybody. `of` outlives the router.
[[nodiscard]] rota::http::router debug_routes(const inspected& of);

/// Of a server with very many connections only so many are listed.
inline constexpr std::size_t tasks_listed_max = 1'000;

// How these pages are written, apart from where the figures come from.

struct figures {
    rota::http::metrics_snapshot http{};
    std::vector<rota::http::route_metrics> routes{};
    std::vector<rota::worker_status> workers{};
    std::size_t routines = 0;
    std::size_t blocked = 0;
    std::vector<jobs::queue_info> queues{};
    jobs::time_ms now = 0;                ///< when the queues were looked at
    std::optional<double> queues_age_s{}; ///< how long that is ago; none: never
    jobs::store_state store{};
    std::vector<jobs::job_times::seen> times{};
};
/// In the Prometheus text format, version 0.0.4.
[[nodiscard]] std::string metrics_text(const figures& f);

/// The routines of a runtime at one moment, more or less: they go on meanwhile.
struct task_list {
    std::size_t routines = 0;
    std::vector<rota::blocked_group> waits{}; ///< as blocked_tasks::groups() gives them
    /// At work, with the wait that they came from last, `what` empty if none; one for each worker
    /// at most.
    std::vector<rota::blocked_routine> running{};
    std::vector<rota::worker_status> workers{};

    [[nodiscard]] std::size_t blocked_count() const noexcept;
};
/// Any thread; waits for no worker, so it tells of one that is held up, too.
[[nodiscard]] task_list list_tasks(rota::runtime& of);

/// What the queues held when the store could tell last; nothing if it never could. `service`
/// outlives the task.
[[nodiscard]] rota::task<std::vector<jobs::queue_info>> queues_of(jobs::service* service);

/// {"routines", "running": [...], "blocked": [...], "truncated", "waits": [...], "workers": [...]},
/// with `limit` of the blocked routines. "waits" has them by what they wait for: {"what", "where",
/// "function", "on", "count", "longest_ms", "ids": [...]}.
[[nodiscard]] std::string tasks_json(const task_list& tasks, std::size_t limit,
                                     std::chrono::steady_clock::time_point now);
/// The same in lines for a log.
[[nodiscard]] std::vector<std::string> tasks_lines(const task_list& tasks, std::size_t limit,
                                                   std::chrono::steady_clock::time_point now);

} // namespace rota_http
