#include "inspection.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <rota/http/prometheus.hpp>
#include <rota/when_all.hpp>

#include "inspection_json.hpp"
#include "live.hpp"
#include <rota/json/writer.hpp>

namespace rota_http {
namespace {

using rota::http::response;

/// Of very many queues the times of so many are told, in 32 lines each.
constexpr std::size_t queues_timed_max = 200;

response health(const inspected& of) {
    if (of.server->drain_token().stop_requested())
        return response::fixed("draining\n").status(503);
    return response::fixed("ok\n");
}

response readiness_response(bool ready, std::string_view reason) {
    std::string body;
    rota::json::writer w(body);
    w.begin_object().member("ready", ready);
    if (!ready)
        w.member("reason", reason);
    w.end_object();
    body += '\n';
    response answer = response::json(std::move(body));
    answer.header("Cache-Control", "no-store");
    if (!ready)
        answer.status(503).header("Retry-After", "1");
    return answer;
}

/// Waits two seconds at most: store_watch.
rota::task<response> readiness(const inspected* of) {
    if (of->server->drain_token().stop_requested())
        co_return readiness_response(false, "draining");
    const jobs::store_state store = co_await of->queues->watch().state();
    co_return readiness_response(store.up, store.reason);
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
    jobs::service& queues = *of.queues;
    using seen_ptr = std::shared_ptr<const jobs::store_watch::queues_seen>;
    rota::task<seen_ptr> listing = queues.watch().queues();
    rota::task<jobs::store_state> asking = queues.watch().state();
    auto both = co_await rota::when_all(std::move(listing), std::move(asking));
    const seen_ptr seen = std::move(std::get<0>(both));
    f.store = std::move(std::get<1>(both));
    if (seen) {
        f.queues = seen->queues;
        const std::chrono::duration<double> age = jobs::store_watch::clock::now() - seen->at;
        f.queues_age_s = age.count();
        f.now = queues.now() - static_cast<jobs::time_ms>(age.count() * 1e3);
    }
    f.times = queues.times(queues_timed_max);
    f.http = of.server->metrics();
    f.routes = of.server->metrics_by_route();
    f.workers = workers.workers();
    f.routines = workers.routine_count();
    f.blocked = workers.blocked_count();
    co_return response::with_body(metrics_text(f), rota::http::prometheus_text::content_type);
}

} // namespace

void add_inspection(rota::http::router& to, const inspected& of) {
    const inspected* const from = &of;
    to.get("/metrics", [from](rota::http::request&) { return metrics(from); })
        .get("/healthz", [from] { return health(*from); })
        .get("/readyz", [from](rota::http::request&) { return readiness(from); });
}

rota::http::router debug_routes(const inspected& of) {
    rota::http::router result;
    result.get("/tasks", [from = &of] { return tasks(*from); });
    add_live(result, of);
    return result;
}

rota::task<std::vector<jobs::queue_info>> queues_of(jobs::service* service) {
    const std::shared_ptr<const jobs::store_watch::queues_seen> seen =
        co_await service->watch().queues();
    std::vector<jobs::queue_info> all;
    if (seen)
        all = seen->queues;
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
    all.waits = of.blocked_map().groups();
    all.routines = of.routine_count();
    return all;
}

std::size_t task_list::blocked_count() const noexcept {
    std::size_t count = 0;
    for (const rota::blocked_group& group : waits)
        count += group.waiters.size();
    return count;
}

std::string tasks_json(const task_list& tasks, std::size_t limit,
                       std::chrono::steady_clock::time_point now) {
    std::string body;
    rota::json::writer w(body);
    w.begin_object().member("routines", tasks.routines).key("running").begin_array();
    for (const rota::blocked_routine& r : tasks.running)
        write_routine(w, r, now);
    w.end_array().key("blocked").begin_array();
    std::size_t left = limit;
    std::size_t groups = 0;
    for (; groups < tasks.waits.size() && left != 0; ++groups) {
        for (const rota::blocked_routine& r : first_of(tasks.waits[groups], left))
            write_routine(w, r, now);
        left -= std::min(left, tasks.waits[groups].waiters.size());
    }
    w.end_array().member("truncated", tasks.blocked_count() > limit).key("waits").begin_array();
    left = limit;
    for (const rota::blocked_group& group : std::span(tasks.waits).first(groups)) {
        write_group(w, group, left, now);
        left -= std::min(left, group.waiters.size());
    }
    w.end_array().key("workers").begin_array();
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
                                tasks.running.size(), tasks.blocked_count()));
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
    std::size_t left = limit;
    for (const rota::blocked_group& group : tasks.waits) {
        if (left == 0)
            break;
        const rota::blocked_routine& first = group.waiters.front();
        lines.push_back(fmt::format("  {} in {}: {} waiting", first.what, place_of(first),
                                    group.waiters.size()));
        for (const rota::blocked_routine& r : first_of(group, left))
            lines.push_back(fmt::format("    {}#{} on worker {} for {} ms", r.name, r.id, r.worker,
                                        age_ms(r, now)));
        left -= std::min(left, group.waiters.size());
    }
    if (tasks.blocked_count() > limit)
        lines.push_back(fmt::format("  and {} more", tasks.blocked_count() - limit));
    return lines;
}

} // namespace rota_http
