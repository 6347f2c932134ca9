#include <rota/http/metrics.hpp>

#include <algorithm>
#include <stdexcept>

#include <rota/http/router.hpp>
#include <rota/http/session_control.hpp>

namespace rota::http {

worker_counters& session_control::counters(std::size_t worker,
                                           std::unique_ptr<worker_counters>& own) const {
    if (metrics != nullptr)
        return metrics->of_worker(worker);
    own = std::make_unique<worker_counters>();
    return *own;
}

void worker_counters::count_response(int status, std::chrono::steady_clock::duration took,
                                     std::uint32_t route) noexcept {
    requests.add(1);
    const auto status_class = static_cast<std::size_t>(std::clamp(status / 100, 1, 5) - 1);
    responses_by_class_[status_class].add(1);
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    const auto positive = static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0));
    std::size_t bucket = 0;
    while (bucket < latency_bounds_us.size() && positive > latency_bounds_us[bucket])
        ++bucket;
    latency_counts_[bucket].add(1);
    latency_sum_us_.add(positive);
    route_counters& its = by_route_[std::min<std::size_t>(route, routes_)];
    its.responses_by_class[status_class].add(1);
    its.latency_sum_us.add(positive);
}

server_metrics::~server_metrics() {
    for (auto& worker : workers_)
        delete worker.load(std::memory_order_relaxed);
}

worker_counters& server_metrics::of_worker(std::size_t index) {
    if (index >= workers_max)
        throw std::out_of_range("more workers than counters");
    std::atomic<worker_counters*>& place = workers_[index];
    // Two routines of a worker do not race for it, but the baton may be handed to another thread in
    // between.
    worker_counters* counters = place.load(std::memory_order_acquire);
    if (counters == nullptr) {
        counters = new worker_counters(routes_ != nullptr ? routes_->routes().size() : 0);
        place.store(counters, std::memory_order_release); // to read() on other threads
    }
    return *counters;
}

metrics_snapshot server_metrics::read() const noexcept {
    metrics_snapshot sum;
    for (const auto& worker : workers_) {
        const worker_counters* counters = worker.load(std::memory_order_acquire);
        if (counters == nullptr)
            continue;
        sum.connections += counters->connections.get();
        sum.connections_open += counters->connections_open.get();
        sum.connections_taken_over += counters->connections_taken_over.get();
        sum.connections_http2 += counters->connections_http2.get();
        sum.requests_http2 += counters->requests_http2.get();
        sum.requests += counters->requests.get();
        sum.requests_in_flight += counters->requests_in_flight.get();
        sum.bytes_received += counters->bytes_received.get();
        sum.bytes_sent += counters->bytes_sent.get();
        for (std::size_t i = 0; i < sum.responses_by_class.size(); ++i) {
            sum.responses_by_class[i] += counters->responses_by_class_[i].get();
        }
        for (std::size_t i = 0; i < sum.handshakes.size(); ++i)
            sum.handshakes[i] += counters->handshakes[i].get();
        for (std::size_t i = 0; i < sum.latency_counts.size(); ++i) {
            sum.latency_counts[i] += counters->latency_counts_[i].get();
        }
        sum.latency_sum_us += counters->latency_sum_us_.get();
    }
    return sum;
}

std::vector<route_metrics> server_metrics::read_routes() const {
    std::vector<route_metrics> all;
    if (routes_ != nullptr) {
        for (const auto& each : routes_->routes())
            all.push_back({.of = each.get()});
    }
    all.emplace_back();
    for (const auto& worker : workers_) {
        const worker_counters* const counters = worker.load(std::memory_order_acquire);
        if (counters == nullptr)
            continue;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const worker_counters::route_counters& its = counters->by_route_[i];
            for (std::size_t k = 0; k < its.responses_by_class.size(); ++k)
                all[i].responses_by_class[k] += its.responses_by_class[k].get();
            all[i].latency_sum_us += its.latency_sum_us.get();
        }
    }
    return all;
}

} // namespace rota::http
