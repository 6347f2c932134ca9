#include <algorithm>
#include <array>
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
        out_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
    }
    template <class Number>
    void sample(Number value) {
        out_ += fmt::format("{} {}\n", name_, value);
    }
    template <class Number>
    void sample(std::string_view labels, Number value) {
        out_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
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
    metric(out, "rota_http_connections_taken_over", "gauge",
           "Those of them that speak another protocol now.")
        .sample(http.connections_taken_over);
    metric(out, "rota_http_connections_http2", "gauge", "Those of them that speak HTTP/2.")
        .sample(http.connections_http2);
    metric(out, "rota_http_requests_http2_total", "counter", "Requests that came by HTTP/2.")
        .sample(http.requests_http2);
    metric(out, "rota_http_received_bytes_total", "counter", "Bytes of requests.")
        .sample(http.bytes_received);
    metric(out, "rota_http_sent_bytes_total", "counter", "Bytes of answers.")
        .sample(http.bytes_sent);
}

/// The samples of a histogram, whose lines HELP and TYPE are there. Bounds are of any unit, of
/// which `per_second` make a second.
template <class Bounds, class Counts>
void add_histogram(std::string& out, std::string_view name, std::string_view labels,
                   const Bounds& bounds, const Counts& counts, std::uint64_t sum,
                   double per_second) {
    const std::string_view comma = labels.empty() ? "" : ",";
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        count += counts[i];
        out += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma,
                           static_cast<double>(bounds[i]) / per_second, count);
    }
    count += counts.back();
    out += fmt::format("{}_bucket{{{}{}le=\"+Inf\"}} {}\n", name, labels, comma, count);
    const std::string braces = labels.empty() ? "" : fmt::format("{{{}}}", labels);
    out += fmt::format("{0}_sum{1} {2}\n{0}_count{1} {3}\n", name, braces,
                       static_cast<double>(sum) / per_second, count);
}

void add_latency(std::string& out, const rota::http::metrics_snapshot& http) {
    constexpr std::string_view name = "rota_http_request_duration_seconds";
    metric(out, name, "histogram", "From the head of a request to its answer.");
    add_histogram(out, name, "", rota::http::latency_bounds_us, http.latency_counts,
                  http.latency_sum_us, 1e6);
}

void add_store(std::string& out, const figures& f) {
    metric(out, "rota_store_up", "gauge", "Whether the job store can be used: 1, or 0.")
        .sample(f.store.up ? 1 : 0);
    metric errors(out, "rota_store_errors_total", "counter", "Calls of the job store that failed.");
    for (std::size_t i = 0; i < f.store.errors.size(); ++i) {
        const auto kind = static_cast<jobs::store_fault>(i);
        errors.sample(fmt::format("kind=\"{}\"", jobs::to_string(kind)), f.store.errors[i]);
    }
    constexpr std::string_view name = "rota_store_call_duration_seconds";
    metric(out, name, "histogram", "How long calls of the job store took.");
    add_histogram(out, name, "", jobs::store_bounds_us, f.store.latency_counts,
                  f.store.latency_sum_us, 1e6);
}

void add_job_times(std::string& out, const figures& f) {
    const auto add = [&](std::string_view name, std::string_view help,
                         jobs::time_counts jobs::job_times::seen::*which) {
        metric(out, name, "histogram", help);
        for (const jobs::job_times::seen& q : f.times) {
            const jobs::time_counts& times = q.*which;
            add_histogram(out, name, fmt::format("queue=\"{}\"", q.queue), jobs::job_bounds_ms,
                          times.counts, times.sum_ms, 1e3);
        }
    };
    add("rota_job_queued_seconds", "How long jobs were queued until this server gave them out.",
        &jobs::job_times::seen::queued);
    add("rota_job_in_progress_seconds", "How long leases that ended in this server were held.",
        &jobs::job_times::seen::in_progress);
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
    metric oldest(out, "rota_jobs_oldest_seconds", "gauge",
                  "How long ago the oldest queued job of a queue was added; 0 if there is none.");
    for (std::size_t i = 0; i < count; ++i) {
        const auto& added = f.queues[i].oldest;
        const jobs::time_ms age = added ? std::max<jobs::time_ms>(f.now - *added, 0) : 0;
        oldest.sample(fmt::format("queue=\"{}\"", f.queues[i].name),
                      static_cast<double>(age) / 1e3);
    }
    metric(out, "rota_jobs_age_seconds", "gauge",
           "How old the figures of queues are: more than some seconds if the store does not tell.")
        .sample(f.queues_age_s);
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
    add_store(out, f);
    add_queues(out, f);
    add_job_times(out, f);
    return out;
}

} // namespace rota_http
