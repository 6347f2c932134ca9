#include "events.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <rota/http/event_stream.hpp>
#include <rota/sleep.hpp>

namespace rota_http {
namespace {

using rota::task;
using rota::http::event_stream;
using rota::http::event_stream_options;
using rota::http::request;
using rota::http::response;
using rota::http::server_event;
using std::chrono::milliseconds;

constexpr std::uint64_t count_max = 1'000'000;
constexpr std::uint64_t seen_max = (std::uint64_t{1} << 62) - count_max; // all ids are taken back
constexpr std::uint64_t interval_max_ms = 3'600'000;

task<void> send_numbers(event_stream* to, std::uint64_t count, milliseconds interval) {
    const std::uint64_t seen = to->last_event_number(seen_max).value_or(0);
    for (std::uint64_t i = 1; i <= count; ++i) {
        if (i > 1 && interval.count() > 0)
            co_await rota::sleep_for(interval);
        const std::uint64_t number = seen + i;
        server_event next("event " + std::to_string(number));
        next.id(number);
        co_await to->send(next);
    }
}

} // namespace

void add_events(rota::http::router& to, const inspected& of) {
    to.get("/events", [from = &of](request& r) -> task<response> {
        const auto count = r.query<std::uint64_t>("count", 10, 0, count_max);
        const auto interval = r.query<std::uint64_t>("interval_ms", 100, 0, interval_max_ms);
        auto source = [count, every = milliseconds(interval)](event_stream& stream) {
            return send_numbers(&stream, count, every);
        };
        event_stream_options options;
        options.retry = milliseconds(1'000);
        options.until = from->server->drain_token();
        co_return event_stream::answer(r, std::move(source), std::move(options));
    });
}

} // namespace rota_http
