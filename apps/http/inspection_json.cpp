#include "inspection_json.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace rota_http {

std::string_view name_of(std::string_view function) {
    const std::string_view head = function.substr(0, function.find('('));
    return head.substr(head.rfind(' ') + 1);
}

std::string place_of(const rota::blocked_routine& r) {
    return r.file + ':' + std::to_string(r.line);
}

std::int64_t age_ms(const rota::blocked_routine& r, std::chrono::steady_clock::time_point now) {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - r.since);
    return std::max<std::int64_t>(age.count(), 0);
}

void write_routine(rota::json::writer& w, const rota::blocked_routine& r,
                   std::chrono::steady_clock::time_point now) {
    w.begin_object().member("id", r.id).member("name", r.name).member("what", r.what);
    const bool has_waited = r.since != std::chrono::steady_clock::time_point();
    w.key("where");
    has_waited ? w.value(place_of(r)) : w.null();
    w.member("function", name_of(r.function)).key("since_ms");
    has_waited ? w.value(age_ms(r, now)) : w.null();
    w.member("worker", r.worker).end_object();
}

std::span<const rota::blocked_routine> first_of(const rota::blocked_group& group,
                                                std::size_t limit) noexcept {
    return std::span(group.waiters).first(std::min(limit, group.waiters.size()));
}

void write_group(rota::json::writer& w, const rota::blocked_group& group, std::size_t limit,
                 std::chrono::steady_clock::time_point now) {
    const rota::blocked_routine& first = group.waiters.front();
    w.begin_object().member("what", first.what).member("where", place_of(first));
    w.member("function", name_of(first.function)).key("on");
    if (first.on != nullptr) {
        w.value(fmt::format("{}", first.on));
    } else {
        w.null();
    }
    w.member("count", group.waiters.size()).member("longest_ms", age_ms(first, now));
    w.key("ids").begin_array();
    for (const rota::blocked_routine& r : first_of(group, limit))
        w.value(r.id);
    w.end_array().end_object();
}

void write_worker(rota::json::writer& w, const rota::worker_status& status) {
    w.begin_object().member("index", status.index).member("state", to_string(status.state));
    w.member("draining", status.draining).member("routines", status.routines);
    w.member("connections", status.connections).member("runnable", status.runnable);
    w.end_object();
}

} // namespace rota_http
