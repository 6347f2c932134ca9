#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rota/http/metrics.hpp>

#include "inspection.hpp"

namespace rota_http {

/// Of routines of one name that wait at one place: how many, and how long the first has.
struct wait_group {
    std::string name{};
    std::string what{};
    std::string where{};
    std::string function{};
    std::size_t count = 0;
    std::int64_t longest_ms = 0;
};
/// The largest groups first. With one for each routine of a crowd nobody would see anything.
[[nodiscard]] std::vector<wait_group> group_waits(const std::vector<rota::blocked_group>& all,
                                                  std::chrono::steady_clock::time_point now);

/// Below what so many percent of the requests between two looks at the counters have stayed, in
/// microseconds, taken as even within a bucket; the last bucket counts as its lower bound. Nothing
/// if there were none.
using latency_counts = decltype(rota::http::metrics_snapshot::latency_counts);
[[nodiscard]] std::optional<std::uint64_t>
percentile_us(const latency_counts& before, const latency_counts& after, unsigned percent);

/// A look at the whole program.
struct live_look {
    std::chrono::steady_clock::time_point at{};
    figures seen{};
    task_list tasks{};
    std::int64_t started_ms = 0; ///< Unix time; tells one run of the program from the next
    jobs::time_ms now_ms = 0;    ///< Unix time of `at`
};

/// Of very many only so many are told of: of queues those with dead jobs, then those whose oldest
/// job waits longest.
inline constexpr std::size_t live_groups_max = 50;
inline constexpr std::size_t live_queues_max = 200;

/// As JSON in one line: {"started_at_ms", "now_ms", "rates", "connections", "in_flight",
/// "requests", "routines", "workers": [...], "running": [...], "blocked", "waits": [...],
/// "queues_total", "queues": [...]}; "rates" is what happened since `before`, null without it.
[[nodiscard]] std::string live_text(const live_look& now, const live_look* before);

} // namespace rota_http
