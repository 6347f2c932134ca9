#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "inspection.hpp"

namespace rota_http {
namespace {

/// Of very many queues only so many are told of.
constexpr std::size_t queues_told_max = 1'000;

/// A metric's lines: first what it is, then its samples.
class metric {
public:
    metric(std::string& out, std::string_view name, std::string_view type, std::string_view help)
        : out_(out), name_(name) {
        fmt::format_to(std::back_inserter(out_), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type,
                       help);
    }
    template <class Number>
    void sample(Number value) {
        fmt::format_to(std::back_inserter(out_), "{} {}\n", name_, value);
    }
    template <class Number>
    void sample(std::string_view labels, Number value) {
        fmt::format_to(std::back_inserter(out_), "{}{{{}}} {}\n", name_, labels, value);
    }

private:
    std::string& out_;
    std::string_view name_;
};

void add_requests(std::string& out, const rota::http::metrics_snapshot& http) {
    metric answered(out, "rota_http_requests_total", "counter", "Requests answered.");
    for (std::size_t i = 0; i < http.responses_by_class.size(); ++i)
        answered.sample(fmt::format("class=\"{}xx\"", i + 1), http.responses_by_class[i]);
    metric(out, "rota_http_requests_in_flight", "gauge", "Requests whose handlers wait.")
        .sample(http.requests_in_flight);
    metric(out, "rota_http_connections_total", "counter", "Connections served so far.")
        .sample(http.connections);
    metric(out, "rota_http_connections", "gauge", "Connections that are open.")
        .sample(http.connections_open);
    metric(out, "rota_http_received_bytes_total", "counter", "Bytes of requests.")
        .sample(http.bytes_received);
    metric(out, "rota_http_sent_bytes_total", "counter", "Bytes of answers.")
        .sample(http.bytes_sent);
}

void add_latency(std::string& out, const rota::http::metrics_snapshot& http) {
    constexpr std::string_view name = "rota_http_request_duration_seconds";
    fmt::format_to(std::back_inserter(out),
                   "# HELP {0} From the head of a request to its answer.\n# TYPE {0} histogram\n",
                   name);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < http.latency_counts.size(); ++i) {
        count += http.latency_counts[i];
        if (i < rota::http::latency_bounds_us.size()) {
            fmt::format_to(std::back_inserter(out), "{}_bucket{{le=\"{}\"}} {}\n", name,
                           rota::http::latency_bounds_us[i] / 1e6, count);
        }
    }
    fmt::format_to(std::back_inserter(out), "{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n", name,
                   count, static_cast<double>(http.latency_sum_us) / 1e6);
    fmt::format_to(std::back_inserter(out), "{}_count {}\n", name, count);
}

void add_workers(std::string& out, const figures& f) {
    metric(out, "rota_routines", "gauge", "Routines that have not stopped.").sample(f.routines);
    metric(out, "rota_routines_blocked", "gauge", "Routines that wait.").sample(f.blocked);
    const auto label = [](const rota::worker_status& w) {
        return fmt::format("worker=\"{}\"", w.index);
    };
    metric routines(out, "rota_worker_routines", "gauge", "Routines of a worker.");
    for (const rota::worker_status& w : f.workers)
        routines.sample(label(w), w.routines);
    metric connections(out, "rota_worker_connections", "gauge", "Connections of a worker.");
    for (const rota::worker_status& w : f.workers)
        connections.sample(label(w), w.connections);
    metric runnable(out, "rota_worker_runnable", "gauge", "What waits to be run: the load.");
    for (const rota::worker_status& w : f.workers)
        runnable.sample(label(w), w.runnable);
    metric state(out, "rota_worker_state", "gauge", "Who runs the worker now.");
    constexpr std::array states{rota::baton::parked, rota::baton::running, rota::baton::lent};
    for (const rota::worker_status& w : f.workers) {
        for (const rota::baton each : states) {
            state.sample(fmt::format("{},state=\"{}\"", label(w), to_string(each)),
                         w.state == each ? 1 : 0);
        }
    }
}

void add_queues(std::string& out, const figures& f) {
    const std::size_t count = std::min(f.queues.size(), queues_told_max);
    // Names of queues are letters, digits, '.', '_' and '-': nothing to escape.
    metric jobs(out, "rota_jobs", "gauge", "Jobs of a queue.");
    for (std::size_t i = 0; i < count; ++i) {
        const jobs::queue_info& q = f.queues[i];
        const auto sample = [&](std::string_view state, std::uint64_t value) {
            jobs.sample(fmt::format("queue=\"{}\",state=\"{}\"", q.name, state), value);
        };
        sample("queued", q.counts.queued);
        sample("delayed", q.counts.delayed);
        sample("in_progress", q.counts.in_progress);
        sample("dead", q.counts.dead);
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
        metric each(out, c.name, "counter", c.help);
        for (std::size_t i = 0; i < count; ++i) {
            each.sample(fmt::format("queue=\"{}\"", f.queues[i].name), f.queues[i].counts.*c.value);
        }
    }
}

} // namespace

std::string metrics_text(const figures& f) {
    std::string out;
    add_requests(out, f.http);
    add_latency(out, f.http);
    add_workers(out, f);
    add_queues(out, f);
    return out;
}

} // namespace rota_http
