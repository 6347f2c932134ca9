#include <rota/http/prometheus.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/detail/request_access.hpp>
#include <rota/http/error.hpp>
#include <rota/http/router.hpp>

namespace rota::http {
namespace {

/// As the format has it, which is nearly what C++ makes of it.
std::string text_of(double value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    std::array<char, 32> digits{};
    char* const begin = digits.data();
    const auto written =
        std::to_chars(begin, begin + digits.size(), value, std::chars_format::general);
    return {begin, written.ptr};
}

std::string join(std::initializer_list<std::string_view> pieces) {
    std::string all;
    for (const std::string_view each : pieces)
        all += each;
    return all;
}

std::string class_label(std::size_t i) { return join({"class=\"", std::to_string(i + 1), "xx\""}); }

/// Escapes what cannot stand in a line as it is, and quotes if `quotes`.
std::string escaped(std::string_view value, bool quotes) {
    std::string text;
    for (const char c : value) {
        if (c == '\\' || (quotes && c == '"'))
            text += '\\';
        if (c == '\n')
            text += "\\n";
        else
            text += c;
    }
    return text;
}

} // namespace

void prometheus_text::metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    const std::string words = escaped(help, false);
    text_ += join({"# HELP ", name, " ", words, "\n# TYPE ", name, " ", type, "\n"});
}

void prometheus_text::put(std::string_view suffix, std::string_view labels,
                          std::string_view value) {
    const bool some = !labels.empty();
    text_ += join({name_, suffix, some ? "{" : "", labels, some ? "}" : "", " ", value, "\n"});
}

void prometheus_text::line(std::string_view suffix, std::string_view labels, std::uint64_t value) {
    put(suffix, labels, std::to_string(value));
}

void prometheus_text::line(std::string_view suffix, std::string_view labels, std::int64_t value) {
    put(suffix, labels, std::to_string(value));
}

void prometheus_text::line(std::string_view suffix, std::string_view labels, double value) {
    put(suffix, labels, text_of(value));
}

void prometheus_text::buckets(std::string_view labels, std::span<const double> upper,
                              std::span<const std::uint64_t> counts, double sum) {
    const std::string before = labels.empty() ? "" : join({labels, ","});
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < upper.size(); ++i) {
        count += counts[i];
        line("_bucket", join({before, "le=\"", text_of(upper[i]), "\""}), count);
    }
    count += counts.back();
    line("_bucket", before + "le=\"+Inf\"", count);
    line("_sum", labels, sum);
    line("_count", labels, count);
}

std::string prometheus_text::quoted(std::string_view value) {
    return join({"\"", escaped(value, true), "\""});
}

namespace {

void add_routes(prometheus_text& to, std::span<const route_metrics> routes) {
    const auto labels_of = [](const route_metrics& one) {
        return one.of == nullptr ? std::string(R"(method="none",route="none")")
                                 : join({"method=\"", to_string(one.of->method),
                                         "\",route=", prometheus_text::quoted(one.of->pattern)});
    };
    to.metric("rota_http_route_requests_total", "counter", "Requests answered by a route.");
    for (const route_metrics& one : routes) {
        for (std::size_t i = 0; i < one.responses_by_class.size(); ++i) {
            if (one.responses_by_class[i] != 0)
                to.sample(join({labels_of(one), ",", class_label(i)}), one.responses_by_class[i]);
        }
    }
    to.metric("rota_http_route_seconds_total", "counter",
              "How long they took together, from head to answer.");
    for (const route_metrics& one : routes) {
        if (one.responses() != 0)
            to.sample(labels_of(one), static_cast<double>(one.latency_sum_us) / 1e6);
    }
}

} // namespace

void prometheus_text::add(const metrics_snapshot& all, std::span<const route_metrics> routes) {
    metric("rota_http_requests_total", "counter", "Requests answered.");
    for (std::size_t i = 0; i < all.responses_by_class.size(); ++i)
        sample(class_label(i), all.responses_by_class[i]);
    struct figure {
        const char* name;
        const char* type;
        const char* help;
        std::uint64_t value;
    };
    const std::array figures{
        figure{"rota_http_requests_in_flight", "gauge", "Requests whose handlers wait.",
               all.requests_in_flight},
        figure{"rota_http_connections_total", "counter", "Connections served so far.",
               all.connections},
        figure{"rota_http_connections", "gauge", "Connections that are open.",
               all.connections_open},
        figure{"rota_http_connections_taken_over", "gauge",
               "Those of them, and streams of HTTP/2, that speak another protocol now.",
               all.connections_taken_over},
        figure{"rota_http_connections_http2", "gauge", "Those of them that speak HTTP/2.",
               all.connections_http2},
        figure{"rota_http_requests_http2_total", "counter", "Requests that came by HTTP/2.",
               all.requests_http2},
        figure{"rota_http_received_bytes_total", "counter", "Bytes of requests.",
               all.bytes_received},
        figure{"rota_http_sent_bytes_total", "counter", "Bytes of answers.", all.bytes_sent},
    };
    for (const figure& each : figures) {
        metric(each.name, each.type, each.help);
        sample(each.value);
    }
    metric("rota_http_tls_handshakes_total", "counter", "TLS handshakes, by how they ended.");
    constexpr std::array ends{R"(result="full")", R"(result="resumed")", R"(result="failed")",
                              R"(result="gone")"};
    for (std::size_t i = 0; i < ends.size(); ++i)
        sample(ends[i], all.handshakes[i]);
    metric("rota_http_request_duration_seconds", "histogram",
           "From the head of a request to its answer.");
    histogram({}, latency_bounds_us, all.latency_counts, all.latency_sum_us, 1e6);
    if (!routes.empty())
        add_routes(*this, routes);
}

handler prometheus() {
    return [](const request& asked) {
        const server_metrics* const of = request_access::metrics(asked);
        if (of == nullptr)
            throw http_error(503, "no server counts here");
        prometheus_text page;
        page.add(of->read(), of->read_routes());
        return response::with_body(page.text(), prometheus_text::content_type);
    };
}

} // namespace rota::http
