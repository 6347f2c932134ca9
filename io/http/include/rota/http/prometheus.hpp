#pragma once

#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <rota/http/handler.hpp>
#include <rota/http/metrics.hpp>

namespace rota::http {

/// Figures in Prometheus' text format, version 0.0.4, for pages that show more than their server:
/// metric() says what the samples after it are.
class prometheus_text {
public:
    static constexpr std::string_view content_type = "text/plain; version=0.0.4; charset=utf-8";

    /// Adds the server's own: requests by class and by route, how long they took, connections,
    /// bytes. A route is named by its pattern, never by what was asked for, so there are no more
    /// rows than routes and one, "none", for what was answered without.
    void add(const metrics_snapshot& all, std::span<const route_metrics> routes = {});

    /// Begins a metric. `type` is "counter", "gauge" or "histogram"; `help` any text.
    void metric(std::string_view name, std::string_view type, std::string_view help);
    template <class Number>
    requires std::is_arithmetic_v<Number>
    void sample(Number value) { sample(std::string_view(), value); }
    /// Adds a sample. `labels` as they are written: name="value", and a comma between two; see
    /// quoted().
    template <class Number>
    requires std::is_arithmetic_v<Number>
    void sample(std::string_view labels, Number value) {
        if constexpr (std::is_floating_point_v<Number>)
            line("", labels, static_cast<double>(value));
        else if constexpr (std::is_signed_v<Number>)
            line("", labels, static_cast<std::int64_t>(value));
        else
            line("", labels, static_cast<std::uint64_t>(value));
    }
    /// Adds all samples of a histogram: `bounds` and `sum` are in a unit of which `per_second` make
    /// a second; there is one count more than bounds, for the rest.
    template <std::ranges::input_range Bounds>
    void histogram(std::string_view labels, const Bounds& bounds,
                   std::span<const std::uint64_t> counts, std::uint64_t sum, double per_second) {
        std::vector<double> upper;
        for (const auto each : bounds)
            upper.push_back(static_cast<double>(each) / per_second);
        buckets(labels, upper, counts, static_cast<double>(sum) / per_second);
    }

    /// Returns a label's value, in quotes.
    [[nodiscard]] static std::string quoted(std::string_view value);
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    void buckets(std::string_view labels, std::span<const double> upper,
                 std::span<const std::uint64_t> counts, double sum);
    void put(std::string_view suffix, std::string_view labels, std::string_view value);
    void line(std::string_view suffix, std::string_view labels, double value);
    void line(std::string_view suffix, std::string_view labels, std::uint64_t value);
    void line(std::string_view suffix, std::string_view labels, std::int64_t value);

    std::string text_;
    std::string name_;
};

/// Answers with the figures of the server that the request has come to; 503 if there is none. A
/// line to use: `routes.get("/metrics", http::prometheus())`.
[[nodiscard]] handler prometheus();

} // namespace rota::http
