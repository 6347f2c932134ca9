#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <rota/check.hpp>

namespace rota::http {

class router;
struct route;

/// Upper bounds of the latency histogram's buckets, in microseconds; one more bucket holds the
/// rest.
inline constexpr std::array<std::uint32_t, 17> latency_bounds_us{
    50,     100,     250,     500,     1'000,     2'500,     5'000,     10'000,    25'000,
    50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};

/// How a TLS handshake has ended: with a new session, or an earlier one; without agreement; or the
/// client went, was too slow, or had to make room for others.
enum class handshake_end : std::uint8_t { full, resumed, failed, gone };

/// What a server has done so far: a copy, summed over the workers.
struct metrics_snapshot {
    std::uint64_t connections = 0; // served so far
    std::uint64_t connections_open = 0;
    std::uint64_t connections_taken_over = 0; // of the open ones; over HTTP/2 streams
    std::uint64_t connections_http2 = 0;      // of the open ones
    std::uint64_t requests = 0;               // answered, malformed ones included
    std::uint64_t requests_http2 = 0;         // of these
    std::uint64_t requests_in_flight = 0;
    std::array<std::uint64_t, 5> responses_by_class{}; // 1xx to 5xx
    std::array<std::uint64_t, 4> handshakes{};         // by handshake_end
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_sent = 0; // handed to the stream
    /// From the arrival of the bytes that completed the head to the handing over of the answer.
    std::array<std::uint64_t, latency_bounds_us.size() + 1> latency_counts{};
    std::uint64_t latency_sum_us = 0;
};

/// What a server has answered by one of its routes so far.
struct route_metrics {
    const route* of = nullptr; // null: by none, as what could not be read. Lives as its router
    std::array<std::uint64_t, 5> responses_by_class{};
    std::uint64_t latency_sum_us = 0;

    [[nodiscard]] std::uint64_t responses() const noexcept {
        std::uint64_t sum = 0;
        for (const std::uint64_t each : responses_by_class)
            sum += each;
        return sum;
    }
};

/// Counters of one worker. Written by the holder of its baton only, so an increment is a load and a
/// store; read by any thread.
class alignas(64) worker_counters {
public:
    class counter {
    public:
        void add(std::uint64_t n) noexcept {
            value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
        }
        void subtract(std::uint64_t n) noexcept {
            ROTA_CHECK(get() >= n, "what is counted off was counted");
            add(std::uint64_t{0} - n);
        }
        [[nodiscard]] std::uint64_t get() const noexcept {
            return value_.load(std::memory_order_relaxed);
        }

    private:
        std::atomic<std::uint64_t> value_{0};
    };

    /// Counts something for as long as this lives.
    class held {
    public:
        explicit held(counter& of) noexcept : of_(of) { of_.add(1); }
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() { of_.subtract(1); }

    private:
        counter& of_;
    };

    /// The number for requests without a route (route::number).
    static constexpr std::uint32_t no_route = std::numeric_limits<std::uint32_t>::max();

    /// Makes counters for `routes` routes. Throws std::bad_alloc.
    explicit worker_counters(std::size_t routes = 0)
        : routes_(routes), by_route_(std::make_unique<route_counters[]>(routes + 1)) {}

    void count_response(int status, std::chrono::steady_clock::duration took,
                        std::uint32_t route = no_route) noexcept;

    counter connections;
    counter connections_open;
    counter connections_taken_over;
    counter requests;
    counter requests_in_flight;
    counter bytes_received;
    counter bytes_sent;

private:
    friend class server_metrics;
    struct route_counters {
        std::array<counter, 5> responses_by_class;
        counter latency_sum_us;
    };
    const std::size_t routes_;
    const std::unique_ptr<route_counters[]> by_route_; // the last one of those without
    std::array<counter, 5> responses_by_class_;
    std::array<counter, latency_bounds_us.size() + 1> latency_counts_;
    counter latency_sum_us_;

public: // behind the others: of HTTP/2, and of TLS
    counter connections_http2;
    counter requests_http2;
    std::array<counter, 4> handshakes; // by handshake_end
};

/// The counters of a server, one set for each worker that serves. Any thread.
class server_metrics {
public:
    /// Counts for a server with these routes, which outlive it and are all there already; null:
    /// they are not distinguished.
    explicit server_metrics(const router* routes = nullptr) noexcept : routes_(routes) {}
    ~server_metrics();
    server_metrics(const server_metrics&) = delete;
    server_metrics& operator=(const server_metrics&) = delete;

    /// Returns the counters of a worker, made when it serves its first connection.
    [[nodiscard]] worker_counters& of_worker(std::size_t index);
    /// Returns the sums, approximately as of now.
    [[nodiscard]] metrics_snapshot read() const noexcept;
    /// Returns the same for each route, in the order of router::routes(), and last for none. Throws
    /// std::bad_alloc.
    [[nodiscard]] std::vector<route_metrics> read_routes() const;

private:
    static constexpr std::size_t workers_max = 256;
    const router* const routes_;
    std::array<std::atomic<worker_counters*>, workers_max> workers_{};
};

} // namespace rota::http
