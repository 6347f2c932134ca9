#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include <rota/http/prometheus.hpp>

#include "inspection.hpp"

namespace rota_http {
namespace {

using rota::http::prometheus_text;

/// Of very many queues only so many are told of.
constexpr std::size_t queues_told_max = 1'000;

void add_store(prometheus_text& out, const figures& f) {
    out.metric("rota_store_up", "gauge", "Whether the job store can be used: 1, or 0.");
    out.sample(f.store.up ? 1 : 0);
    out.metric("rota_store_errors_total", "counter", "Calls of the job store that failed.");
    for (std::size_t i = 0; i < f.store.errors.size(); ++i) {
        const auto kind = static_cast<jobs::store_fault>(i);
        out.sample(fmt::format("kind=\"{}\"", jobs::to_string(kind)), f.store.errors[i]);
    }
    constexpr std::string_view name = "rota_store_call_duration_seconds";
    out.metric(name, "histogram", "How long calls of the job store took.");
    out.histogram("", jobs::store_bounds_us, f.store.latency_counts, f.store.latency_sum_us, 1e6);
}

void add_job_times(prometheus_text& out, const figures& f) {
    const auto add = [&](std::string_view name, std::string_view help,
                         jobs::time_counts jobs::job_times::seen::*which) {
        out.metric(name, "histogram", help);
        for (const jobs::job_times::seen& q : f.times) {
            const jobs::time_counts& times = q.*which;
            out.histogram(fmt::format("queue=\"{}\"", q.queue), jobs::job_bounds_ms, times.counts,
                          times.sum_ms, 1e3);
        }
    };
    add("rota_job_queued_seconds", "How long jobs were queued until this server gave them out.",
        &jobs::job_times::seen::queued);
    add("rota_job_in_progress_seconds", "How long leases that ended in this server were held.",
        &jobs::job_times::seen::in_progress);
}

void add_workers(prometheus_text& out, const figures& f) {
    out.metric("rota_routines", "gauge", "Routines that have not stopped.");
    out.sample(f.routines);
    out.metric("rota_routines_blocked", "gauge", "Routines that wait.");
    out.sample(f.blocked);
    const auto label = [](const rota::worker_status& w) {
        return fmt::format("worker=\"{}\"", w.index);
    };
    out.metric("rota_worker_routines", "gauge", "Routines of a worker.");
    for (const rota::worker_status& w : f.workers)
        out.sample(label(w), w.routines);
    out.metric("rota_worker_connections", "gauge", "Connections of a worker.");
    for (const rota::worker_status& w : f.workers)
        out.sample(label(w), w.connections);
    out.metric("rota_worker_runnable", "gauge", "What waits to be run: the load.");
    for (const rota::worker_status& w : f.workers)
        out.sample(label(w), w.runnable);
    out.metric("rota_worker_state", "gauge", "Who runs the worker now.");
    constexpr std::array states{rota::baton::parked, rota::baton::running, rota::baton::lent};
    for (const rota::worker_status& w : f.workers) {
        for (const rota::baton each : states) {
            out.sample(fmt::format("{},state=\"{}\"", label(w), to_string(each)),
                       w.state == each ? 1 : 0);
        }
    }
}

void add_queues(prometheus_text& out, const figures& f) {
    const std::size_t count = std::min(f.queues.size(), queues_told_max);
    // Names of queues are letters, digits, '.', '_' and '-': nothing to escape.
    out.metric("rota_jobs", "gauge", "Jobs of a queue.");
    for (std::size_t i = 0; i < count; ++i) {
        const jobs::queue_info& q = f.queues[i];
        const auto sample = [&](std::string_view state, std::uint64_t value) {
            out.sample(fmt::format("queue=\"{}\",state=\"{}\"", q.name, state), value);
        };
        sample("queued", q.counts.queued);
        sample("delayed", q.counts.delayed);
        sample("in_progress", q.counts.in_progress);
        sample("dead", q.counts.dead);
    }
    out.metric("rota_jobs_oldest_seconds", "gauge",
               "How long ago the oldest queued job of a queue was added; 0 if there is none.");
    for (std::size_t i = 0; i < count; ++i) {
        const auto& added = f.queues[i].oldest;
        const jobs::time_ms age = added ? std::max<jobs::time_ms>(f.now - *added, 0) : 0;
        out.sample(fmt::format("queue=\"{}\"", f.queues[i].name), static_cast<double>(age) / 1e3);
    }
    if (f.queues_age_s) {
        out.metric("rota_jobs_age_seconds", "gauge",
                   "How old the figures of queues are: more than some seconds if the store does "
                   "not tell; none if it never did.");
        out.sample(*f.queues_age_s);
    }
    struct counter {
        const char* name;
        const char* help;
        std::uint64_t jobs::queue_counts::*value;
    };
    constexpr std::array counters{
        counter{"rota_jobs_added_total", "Jobs added.", &jobs::queue_counts::added},
        counter{"rota_jobs_completed_total", "Jobs done.", &jobs::queue_counts::completed},
        counter{"rota_jobs_put_back_total", "Jobs put back.", &jobs::queue_counts::failures},
        counter{"rota_jobs_duplicates_total", "Jobs refused, being there already.",
                &jobs::queue_counts::duplicates},
        counter{"rota_job_leases_expired_total", "Leases that were not acknowledged.",
                &jobs::queue_counts::expired},
    };
    for (const counter& c : counters) {
        out.metric(c.name, "counter", c.help);
        for (std::size_t i = 0; i < count; ++i) {
            out.sample(fmt::format("queue=\"{}\"", f.queues[i].name), f.queues[i].counts.*c.value);
        }
    }
}

} // namespace

std::string metrics_text(const figures& f) {
    prometheus_text out;
    out.add(f.http, f.routes);
    add_workers(out, f);
    add_store(out, f);
    add_queues(out, f);
    add_job_times(out, f);
    return out.text();
}

} // namespace rota_http
