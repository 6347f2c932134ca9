#include "inspection.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "json/writer.hpp"

namespace rota_http {
namespace {

/// Compilers put the result's type before the name of a function, and all of a coroutine's behind.
std::string_view name_of(std::string_view function) {
    const std::string_view head = function.substr(0, function.find('('));
    return head.substr(head.rfind(' ') + 1);
}

using rota::http::response;

/// Of a server with very many connections only so many are listed.
constexpr std::size_t tasks_listed_max = 1'000;

response health(const inspected& of) {
    if (of.server->drain_token().stop_requested())
        return response::fixed("draining\n").status(503);
    return response::fixed("ok\n");
}

response tasks(const inspected& of) {
    rota::runtime& workers = of.context->workers();
    std::string body = tasks_json(workers.blocked(), workers.workers(), workers.routine_count(),
                                  tasks_listed_max, std::chrono::steady_clock::now());
    return response::json(std::move(body));
}

response metrics(const inspected& of) {
    rota::runtime& workers = of.context->workers();
    figures f;
    f.http = of.server->metrics();
    f.workers = workers.workers();
    f.routines = workers.routine_count();
    f.blocked = workers.blocked().size();
    f.queues = of.queues->queues();
    f.leases_expired = of.queues->expired();
    return response::with_body(metrics_text(f), "text/plain; version=0.0.4; charset=utf-8");
}

void write_worker(json::writer& w, const rota::worker_status& status) {
    w.begin_object().member("index", status.index).member("state", to_string(status.state));
    w.member("draining", status.draining).member("routines", status.routines);
    w.member("connections", status.connections).member("runnable", status.runnable);
    w.end_object();
}

} // namespace

void add_inspection(rota::http::router& to, const inspected& of) {
    const inspected* const from = &of;
    to.get("/metrics", [from] { return metrics(*from); })
        .get("/healthz", [from] { return health(*from); })
        .get("/debug/tasks", [from] { return tasks(*from); });
}

std::string tasks_json(const std::vector<rota::blocked_routine>& blocked,
                       const std::vector<rota::worker_status>& workers, std::size_t routines,
                       std::size_t limit, std::chrono::steady_clock::time_point now) {
    std::string body;
    json::writer w(body);
    w.begin_object().member("routines", routines).key("blocked").begin_array();
    const std::size_t listed = std::min(limit, blocked.size());
    for (std::size_t i = 0; i < listed; ++i) {
        const rota::blocked_routine& r = blocked[i];
        const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - r.since);
        w.begin_object().member("id", r.id).member("name", r.name).member("what", r.what);
        w.member("where", r.file + ':' + std::to_string(r.line))
            .member("function", name_of(r.function));
        w.member("since_ms", std::max<std::int64_t>(since.count(), 0));
        w.member("worker", r.worker).end_object();
    }
    w.end_array().member("truncated", listed < blocked.size()).key("workers").begin_array();
    for (const rota::worker_status& status : workers)
        write_worker(w, status);
    w.end_array().end_object();
    body += '\n';
    return body;
}

} // namespace rota_http
