#include "live_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "inspection_json.hpp"
#include <rota/json/writer.hpp>

namespace rota_http {
namespace {

using rota::http::latency_bounds_us;

void write_percentile(rota::json::writer& w, std::string_view name,
                      std::optional<std::uint64_t> us) {
    w.key(name);
    if (us) {
        w.value(*us);
    } else {
        w.null();
    }
}

void write_rates(rota::json::writer& w, const live_look& now, const live_look& before) {
    const auto& latest = now.seen.http;
    const auto& old = before.seen.http;
    const std::chrono::duration<double> passed = now.at - before.at;
    const auto per_s = [&](std::uint64_t a, std::uint64_t b) {
        return std::llround(static_cast<double>(b - std::min(a, b)) / passed.count());
    };
    w.begin_object().member("requests_per_s", per_s(old.requests, latest.requests));
    w.member("connections_per_s", per_s(old.connections, latest.connections));
    w.member("received_bytes_per_s", per_s(old.bytes_received, latest.bytes_received));
    w.member("sent_bytes_per_s", per_s(old.bytes_sent, latest.bytes_sent));
    for (const auto& [name, percent] : {std::pair{"p50_us", 50U}, {"p90_us", 90U}, {"p99_us", 99U}})
        write_percentile(w, name,
                         percentile_us(old.latency_counts, latest.latency_counts, percent));
    w.end_object();
}

void write_waits(rota::json::writer& w, const live_look& now) {
    const std::vector<wait_group> groups = group_waits(now.tasks.waits, now.at);
    const std::size_t told = std::min(groups.size(), live_groups_max);
    w.member("blocked", now.tasks.blocked_count()).member("waits_total", groups.size());
    w.key("waits").begin_array();
    for (std::size_t i = 0; i < told; ++i) {
        const wait_group& g = groups[i];
        w.begin_object().member("name", g.name).member("what", g.what).member("where", g.where);
        w.member("function", g.function).member("count", g.count);
        w.member("longest_ms", g.longest_ms).end_object();
    }
    w.end_array();
}

/// Those that are told of.
std::vector<const jobs::queue_info*> choose_queues(const std::vector<jobs::queue_info>& all) {
    std::vector<const jobs::queue_info*> chosen;
    chosen.reserve(all.size());
    for (const jobs::queue_info& q : all)
        chosen.push_back(&q);
    if (chosen.size() <= live_queues_max)
        return chosen;
    constexpr jobs::time_ms never = std::numeric_limits<jobs::time_ms>::max();
    const auto rank = [never](const jobs::queue_info* q) {
        return std::tuple(q->counts.dead == 0, q->oldest.value_or(never),
                          std::string_view(q->name));
    };
    const auto end = chosen.begin() + static_cast<std::ptrdiff_t>(live_queues_max);
    std::ranges::partial_sort(chosen, end, {}, rank);
    chosen.erase(end, chosen.end());
    return chosen;
}

void write_queues(rota::json::writer& w, const std::vector<jobs::queue_info>& queues,
                  jobs::time_ms now) {
    w.member("queues_total", queues.size()).key("queues").begin_array();
    for (const jobs::queue_info* each : choose_queues(queues)) {
        const jobs::queue_info& q = *each;
        w.begin_object().member("queue", q.name).member("paused", q.settings.paused);
        w.member("queued", q.counts.queued).member("delayed", q.counts.delayed);
        w.member("in_progress", q.counts.in_progress).member("dead", q.counts.dead);
        w.member("added", q.counts.added).member("completed", q.counts.completed);
        w.member("failures", q.counts.failures).key("oldest_age_ms");
        if (q.oldest) {
            w.value(std::max<jobs::time_ms>(now - *q.oldest, 0));
        } else {
            w.null();
        }
        w.end_object();
    }
    w.end_array();
}

} // namespace

std::vector<wait_group> group_waits(const std::vector<rota::blocked_group>& all,
                                    std::chrono::steady_clock::time_point now) {
    // Views into `all`, so that only one string is made for each group.
    using place = std::tuple<std::string_view, std::string_view, std::string_view, std::uint32_t>;
    struct seen {
        const rota::blocked_routine* first;
        std::size_t count;
    };
    std::map<place, seen> found;
    for (const rota::blocked_group& group : all) {
        for (const rota::blocked_routine& r : group.waiters) {
            const auto [at, added] =
                found.try_emplace(place{r.name, r.what, r.file, r.line}, seen{&r, 0});
            ++at->second.count;
            if (r.since < at->second.first->since)
                at->second.first = &r;
        }
    }
    std::vector<wait_group> groups;
    groups.reserve(found.size());
    for (const auto& [where, group] : found) {
        const rota::blocked_routine& r = *group.first;
        groups.push_back({r.name, r.what, place_of(r), std::string(name_of(r.function)),
                          group.count, age_ms(r, now)});
    }
    std::ranges::sort(groups, [](const wait_group& a, const wait_group& b) {
        return std::tie(b.count, a.name, a.what, a.where) <
               std::tie(a.count, b.name, b.what, b.where);
    });
    return groups;
}

std::optional<std::uint64_t> percentile_us(const latency_counts& before,
                                           const latency_counts& after, unsigned percent) {
    latency_counts between{};
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < between.size(); ++i) {
        between[i] = after[i] - std::min(before[i], after[i]);
        total += between[i];
    }
    if (total == 0)
        return std::nullopt;
    const std::uint64_t rank = std::max<std::uint64_t>((total * percent + 99) / 100, 1);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < latency_bounds_us.size(); ++i) {
        if (below + between[i] >= rank) {
            const std::uint64_t least = i == 0 ? 0 : latency_bounds_us[i - 1];
            return least + (latency_bounds_us[i] - least) * (rank - below) / between[i];
        }
        below += between[i];
    }
    return latency_bounds_us.back();
}

std::string live_text(const live_look& now, const live_look* before) {
    std::string text;
    rota::json::writer w(text);
    w.begin_object().member("started_at_ms", now.started_ms).member("now_ms", now.now_ms);
    w.key("rates");
    if (before != nullptr && before->at < now.at) {
        write_rates(w, now, *before);
    } else {
        w.null();
    }
    w.member("requests", now.seen.http.requests);
    w.member("connections", now.seen.http.connections_open);
    w.member("in_flight", now.seen.http.requests_in_flight);
    w.member("routines", now.tasks.routines);
    w.key("workers").begin_array();
    for (const rota::worker_status& status : now.tasks.workers)
        write_worker(w, status);
    w.end_array().key("running").begin_array();
    for (const rota::blocked_routine& r : now.tasks.running)
        write_routine(w, r, now.at);
    w.end_array();
    write_waits(w, now);
    write_queues(w, now.seen.queues, now.now_ms);
    w.end_object();
    return text;
}

} // namespace rota_http
