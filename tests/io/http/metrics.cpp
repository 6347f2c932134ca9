#include <rota/http/metrics.hpp>

#include <chrono>
#include <stdexcept>
#include <thread>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

using namespace std::chrono_literals;

TEST_CASE("counters are summed over the workers") {
    server_metrics metrics;
    CHECK(metrics.read().requests == 0);
    worker_counters& one = metrics.of_worker(0);
    worker_counters& two = metrics.of_worker(200);
    CHECK(&metrics.of_worker(0) == &one);
    one.connections_open.add(3);
    one.connections_open.subtract(2);
    two.connections_open.add(4);
    one.count_response(200, 50us);
    one.count_response(204, 51us);
    two.count_response(404, 20s);
    two.count_response(503, -1us);
    const metrics_snapshot sum = metrics.read();
    CHECK(sum.connections_open == 5);
    CHECK(sum.requests == 4);
    CHECK(sum.responses_by_class == std::array<std::uint64_t, 5>{0, 2, 0, 1, 1});
    CHECK(sum.latency_counts.front() == 2);
    CHECK(sum.latency_counts[1] == 1);
    CHECK(sum.latency_counts.back() == 1);
    CHECK(sum.latency_sum_us == 20'000'101);
    CHECK_THROWS_AS(metrics.of_worker(256), std::out_of_range);
}

TEST_CASE("counters may be read while they are written") {
    server_metrics metrics;
    std::jthread writer([&metrics](const std::stop_token& stop) {
        while (!stop.stop_requested())
            metrics.of_worker(1).count_response(200, 1us);
    });
    std::uint64_t last = 0;
    while (last < 1'000) {
        const std::uint64_t seen = metrics.read().requests;
        REQUIRE(seen >= last);
        last = seen;
    }
}

} // namespace
} // namespace rota::http
