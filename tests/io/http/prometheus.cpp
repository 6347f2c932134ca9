#include <rota/http/prometheus.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/router.hpp>

namespace rota::http {
namespace {

bool has_line(std::string_view text, std::string_view line) {
    return ('\n' + std::string(text)).find('\n' + std::string(line) + '\n') != std::string::npos;
}

TEST_CASE("prometheus: samples stand behind what says what they are") {
    prometheus_text page;
    page.metric("a_total", "counter", "Some.");
    page.sample(3);
    page.sample(-1);
    page.sample(~std::uint64_t{0});
    page.sample("of=\"b\"", 2.5);
    page.metric("c_seconds", "histogram", "More.");
    page.histogram("", std::array{100, 2'000}, std::array<std::uint64_t, 3>{1, 2, 4}, 500, 1e3);
    CHECK(page.text() == "# HELP a_total Some.\n# TYPE a_total counter\na_total 3\n"
                         "a_total -1\na_total 18446744073709551615\n"
                         "a_total{of=\"b\"} 2.5\n"
                         "# HELP c_seconds More.\n# TYPE c_seconds histogram\n"
                         "c_seconds_bucket{le=\"0.1\"} 1\nc_seconds_bucket{le=\"2\"} 3\n"
                         "c_seconds_bucket{le=\"+Inf\"} 7\nc_seconds_sum 0.5\nc_seconds_count 7\n");
}

TEST_CASE("prometheus: what a format of lines has no room for is written otherwise") {
    prometheus_text page;
    page.metric("a", "gauge", "One \\ \"two\"\nthree.");
    using limits = std::numeric_limits<double>;
    for (const double value : {limits::quiet_NaN(), limits::infinity(), -limits::infinity()})
        page.sample(value);
    CHECK(page.text() == "# HELP a One \\\\ \"two\"\\nthree.\n# TYPE a gauge\n"
                         "a NaN\na +Inf\na -Inf\n");
}

TEST_CASE("prometheus: values of labels are quoted") {
    CHECK(prometheus_text::quoted("/a/{b}") == R"("/a/{b}")");
    CHECK(prometheus_text::quoted("a\"b\\c\nd") == R"("a\"b\\c\nd")");
}

TEST_CASE("prometheus: routes are told of by their patterns, if they were asked for") {
    router inner;
    inner.get("/jobs/{id}", [] { return response::fixed("job"); }).post("/jobs", [] {
        return response::fixed("made");
    });
    router routes;
    routes.get("/plain", [] { return response::fixed("plain"); });
    routes.mount("/v1", std::move(inner));
    server_metrics metrics(&routes);
    using std::chrono::milliseconds;
    worker_counters& one = metrics.of_worker(0);
    worker_counters& other = metrics.of_worker(3);
    one.count_response(200, milliseconds(1), 1);
    other.count_response(200, milliseconds(2), 1);
    other.count_response(404, milliseconds(4), 1);
    one.count_response(400, milliseconds(8));
    one.count_response(502, milliseconds(8), 1'000'000);

    const std::vector<route_metrics> all = metrics.read_routes();
    REQUIRE(all.size() == 4);
    CHECK(all[0].of->pattern == "/plain");
    CHECK(all[0].responses() == 0);
    CHECK(all[1].of->pattern == "/v1/jobs/{id}");
    CHECK(all[1].responses() == 3);
    CHECK(all[1].latency_sum_us == 7'000);
    CHECK(all[3].of == nullptr);
    CHECK(all[3].responses() == 2);

    prometheus_text page;
    page.add(metrics.read(), all);
    CAPTURE(page.text());
    const std::string of_jobs = R"(method="GET",route="/v1/jobs/{id}")";
    CHECK(has_line(page.text(), "rota_http_route_requests_total{" + of_jobs + ",class=\"2xx\"} 2"));
    CHECK(has_line(page.text(), "rota_http_route_requests_total{" + of_jobs + ",class=\"4xx\"} 1"));
    CHECK(has_line(page.text(), "rota_http_route_seconds_total{" + of_jobs + "} 0.007"));
    CHECK(has_line(page.text(), "rota_http_route_requests_total{method=\"none\",route=\"none\","
                                "class=\"5xx\"} 1"));
    CHECK(page.text().find("/plain") == std::string::npos);
    CHECK(page.text().find("class=\"3xx\"} 0\nrota_http_route") == std::string::npos);
}

} // namespace
} // namespace rota::http
