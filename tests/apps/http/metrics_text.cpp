#include <sstream>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "inspection.hpp"

using namespace rota_http;

namespace {

figures sample() {
    figures f;
    f.http.responses_by_class = {0, 5, 0, 2, 1};
    f.http.requests_in_flight = 3;
    f.http.connections = 9;
    f.http.connections_open = 4;
    f.http.connections_taken_over = 2;
    f.http.connections_http2 = 3;
    f.http.requests_http2 = 11;
    f.http.handshakes = {12, 13, 14, 15};
    f.http.latency_counts[0] = 6;
    f.http.latency_counts[2] = 1;
    f.http.latency_counts.back() = 1;
    f.http.latency_sum_us = 1'500'000;
    f.workers.push_back({.index = 0, .state = rota::baton::lent, .routines = 7});
    f.queues.push_back({.name = "mail",
                        .counts = {.queued = 2, .in_progress = 1, .completed = 5},
                        .oldest = 1'000});
    f.queues.push_back({.name = "none"});
    f.now = 3'500;
    f.queues_age_s = 0.25;
    f.store.up = false;
    f.store.reason = "the disk is full";
    f.store.errors[1] = 7;
    f.store.latency_counts[0] = 3;
    f.store.latency_sum_us = 60;
    jobs::job_times::seen times{.queue = "mail"};
    times.queued.counts[1] = 2;
    times.queued.sum_ms = 14;
    f.times.push_back(times);
    f.routines = 7;
    return f;
}

bool has_line(const std::string& text, std::string_view line) {
    return ('\n' + text).find('\n' + std::string(line) + '\n') != std::string::npos;
}

} // namespace

TEST_CASE("every figure has its line") {
    const std::string text = metrics_text(sample());
    CAPTURE(text);
    for (const char* line : {
             "rota_http_requests_total{class=\"2xx\"} 5",
             "rota_http_requests_total{class=\"5xx\"} 1",
             "rota_http_requests_in_flight 3",
             "rota_http_connections_total 9",
             "rota_http_connections 4",
             "rota_http_connections_taken_over 2",
             "rota_http_connections_http2 3",
             "rota_http_requests_http2_total 11",
             "rota_http_tls_handshakes_total{result=\"full\"} 12",
             "rota_http_tls_handshakes_total{result=\"resumed\"} 13",
             "rota_http_tls_handshakes_total{result=\"failed\"} 14",
             "rota_http_tls_handshakes_total{result=\"gone\"} 15",
             "rota_worker_routines{worker=\"0\"} 7",
             "rota_worker_state{worker=\"0\",state=\"lent\"} 1",
             "rota_worker_state{worker=\"0\",state=\"parked\"} 0",
             "rota_jobs{queue=\"mail\",state=\"queued\"} 2",
             "rota_jobs{queue=\"mail\",state=\"in_progress\"} 1",
             "rota_jobs{queue=\"mail\",state=\"dead\"} 0",
             "rota_jobs_completed_total{queue=\"mail\"} 5",
             "rota_jobs_oldest_seconds{queue=\"mail\"} 2.5",
             "rota_jobs_oldest_seconds{queue=\"none\"} 0",
             "rota_jobs_age_seconds 0.25",
             "rota_store_up 0",
             "rota_store_errors_total{kind=\"full\"} 7",
             "rota_store_call_duration_seconds_bucket{le=\"0.0001\"} 3",
             "rota_store_call_duration_seconds_count 3",
             "rota_job_queued_seconds_bucket{queue=\"mail\",le=\"0.005\"} 0",
             "rota_job_queued_seconds_bucket{queue=\"mail\",le=\"0.01\"} 2",
             "rota_job_queued_seconds_bucket{queue=\"mail\",le=\"+Inf\"} 2",
             "rota_job_queued_seconds_sum{queue=\"mail\"} 0.014",
             "rota_job_queued_seconds_count{queue=\"mail\"} 2",
             "rota_job_in_progress_seconds_count{queue=\"mail\"} 0",
             "rota_routines 7",
         }) {
        CAPTURE(line);
        CHECK(has_line(text, line));
    }
}

TEST_CASE("queues that were never seen have no age") {
    CHECK(metrics_text({}).find("rota_jobs_age_seconds") == std::string::npos);
}

TEST_CASE("the histogram adds up") {
    const std::string text = metrics_text(sample());
    CHECK(has_line(text, "rota_http_request_duration_seconds_bucket{le=\"5e-05\"} 6"));
    CHECK(has_line(text, "rota_http_request_duration_seconds_bucket{le=\"0.0001\"} 6"));
    CHECK(has_line(text, "rota_http_request_duration_seconds_bucket{le=\"0.00025\"} 7"));
    CHECK(has_line(text, "rota_http_request_duration_seconds_bucket{le=\"10\"} 7"));
    CHECK(has_line(text, "rota_http_request_duration_seconds_bucket{le=\"+Inf\"} 8"));
    CHECK(has_line(text, "rota_http_request_duration_seconds_sum 1.5"));
    CHECK(has_line(text, "rota_http_request_duration_seconds_count 8"));
}

TEST_CASE("every line is a comment or a name with a value") {
    std::istringstream lines(metrics_text(sample()));
    std::string line;
    std::string described;
    while (std::getline(lines, line)) {
        CAPTURE(line);
        if (line.starts_with("# TYPE ")) {
            described = line.substr(7, line.find(' ', 7) - 7);
        } else if (!line.starts_with("# HELP ")) {
            CHECK(line.starts_with(described));
            CHECK(line.find(' ') == line.rfind(' '));
        }
    }
}
