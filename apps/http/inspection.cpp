#include "inspection.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "inspection_json.hpp"
#include "live.hpp"
#include "json/writer.hpp"

namespace rota_http {
namespace {

using rota::http::response;

response health(const inspected& of) {
    if (of.server->drain_token().stop_requested())
        return response::fixed("draining\n").status(503);
    return response::fixed("ok\n");
}

response tasks(const inspected& of) {
    const task_list all = list_tasks(of.context->workers());
    std::string body = tasks_json(all, tasks_listed_max, std::chrono::steady_clock::now());
    return response::json(std::move(body));
}

rota::task<response> metrics(const inspected* from) {
    const inspected& of = *from;
    rota::runtime& workers = of.context->workers();
    figures f;
    rota::task<std::vector<jobs::queue_info>> asking = queues_of(of.queues);
    f.queues = co_await std::move(asking);
    f.http = of.server->metrics();
    f.workers = workers.workers();
    f.routines = workers.routine_count();
    f.blocked = workers.blocked().size();
    co_return response::with_body(metrics_text(f), "text/plain; version=0.0.4; charset=utf-8");
}

} // namespace

void add_inspection(rota::http::router& to, const inspected& of) {
    const inspected* const from = &of;
    to.get("/metrics", [from](rota::http::request&) { return metrics(from); })
        .get("/healthz", [from] { return health(*from); })
        .get("/debug/tasks", [from] { return tasks(*from); });
    add_live(to, of);
}

rota::task<std::vector<jobs::queue_info>> queues_of(jobs::service* service) {
    std::vector<jobs::queue_info> all;
    try {
        rota::task<std::vector<jobs::queue_info>> asking =
            service->backing().queues(service->now());
        all = co_await std::move(asking);
    } catch (const jobs::store_error&) {
    }
    co_return std::move(all);
}

task_list list_tasks(rota::runtime& of) {
    task_list all;
    all.workers = of.workers();
    for (const rota::worker_status& w : all.workers) {
        const rota::runnable* const step = of.worker_at(w.index)->read_pulse().step;
        if (step == nullptr)
            continue;
        rota::blocked_routine running = of.registry().describe(step);
        if (running.id != 0)
            all.running.push_back(std::move(running));
    }
    all.blocked = of.blocked();
    all.routines = of.routine_count();
    return all;
}

std::string tasks_json(const task_list& tasks, std::size_t limit,
                       std::chrono::steady_clock::time_point now) {
    std::string body;
    json::writer w(body);
    w.begin_object().member("routines", tasks.routines).key("running").begin_array();
    for (const rota::blocked_routine& r : tasks.running)
        write_routine(w, r, now);
    w.end_array().key("blocked").begin_array();
    const std::size_t listed = std::min(limit, tasks.blocked.size());
    for (std::size_t i = 0; i < listed; ++i)
        write_routine(w, tasks.blocked[i], now);
    w.end_array().member("truncated", listed < tasks.blocked.size()).key("workers").begin_array();
    for (const rota::worker_status& status : tasks.workers)
        write_worker(w, status);
    w.end_array().end_object();
    body += '\n';
    return body;
}

std::vector<std::string> tasks_lines(const task_list& tasks, std::size_t limit,
                                     std::chrono::steady_clock::time_point now) {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("tasks: {} routines, {} running, {} blocked", tasks.routines,
                                tasks.running.size(), tasks.blocked.size()));
    for (const rota::worker_status& w : tasks.workers) {
        lines.push_back(fmt::format("  worker {}: {}{}, {} routines, {} connections, {} runnable",
                                    w.index, to_string(w.state), w.draining ? ", draining" : "",
                                    w.routines, w.connections, w.runnable));
    }
    for (const rota::blocked_routine& r : tasks.running) {
        lines.push_back(
            fmt::format("  {}#{} on worker {}: running{}", r.name, r.id, r.worker,
                        r.what.empty() ? "" : ", last at " + r.what + " in " + place_of(r)));
    }
    const std::size_t listed = std::min(limit, tasks.blocked.size());
    for (std::size_t i = 0; i < listed; ++i) {
        const rota::blocked_routine& r = tasks.blocked[i];
        lines.push_back(fmt::format("  {}#{} on worker {}: {} in {} for {} ms", r.name, r.id,
                                    r.worker, r.what, place_of(r), age_ms(r, now)));
    }
    if (listed < tasks.blocked.size())
        lines.push_back(fmt::format("  and {} more", tasks.blocked.size() - listed));
    return lines;
}

} // namespace rota_http
