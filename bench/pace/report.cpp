#include "report.hpp"

#include <fmt/format.h>

namespace pace {
namespace {

double in_us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

std::string percentiles(const histogram& seen) {
    return fmt::format(
        R"("p50_us": {:.1f}, "p90_us": {:.1f}, "p99_us": {:.1f}, "p999_us": {:.1f}, )"
        R"("max_us": {:.1f}, "mean_us": {:.1f})",
        in_us(seen.percentile(50)), in_us(seen.percentile(90)), in_us(seen.percentile(99)),
        in_us(seen.percentile(99.9)), in_us(seen.max()), seen.mean() / 1000);
}

std::string stream(const stream_settings& asked, double seconds, const outcome& result) {
    return fmt::format(
        R"({{"wanted_rate": {}, "rate": {:.1f}, "count": {}, "warmup_count": {}, {}, )"
        R"("reconnected": {}, "errors": {{"lost": {}, "unanswered": {}}}}})",
        asked.rate, static_cast<double>(result.within) / seconds,
        result.latency.count() - result.unanswered, result.warmup, percentiles(result.latency),
        result.reconnected, result.lost, result.unanswered);
}

} // namespace

std::string as_json(const settings& asked, const measurement& taken) {
    std::string line = fmt::format(R"({{"seconds": {}, "busy": {:.3f}, "lateness": {{{}}}, )",
                                   asked.seconds, taken.busy, percentiles(taken.lateness));
    line += R"("light": )" + stream(asked.light, asked.seconds, taken.light);
    if (asked.heavy && taken.heavy)
        line += R"(, "heavy": )" + stream(*asked.heavy, asked.seconds, *taken.heavy);
    return line + "}\n";
}

} // namespace pace
