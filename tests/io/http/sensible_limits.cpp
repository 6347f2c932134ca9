#include <rota/http/detail/sensible_limits.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("limits under which nobody could be served are refused") {
    CHECK_NOTHROW(sensible({}));
    const std::vector<std::function<void(server_limits&)>> changes{
        [](server_limits& l) { l.parser.request_line_bytes_max = 0; },
        [](server_limits& l) { l.parser.head_bytes_max = 0; },
        [](server_limits& l) { l.header_timeout = server_limits::milliseconds(-1); },
        [](server_limits& l) { l.send_timeout = server_limits::milliseconds(-1); },
        [](server_limits& l) { l.drain_grace = server_limits::milliseconds(-1); },
        [](server_limits& l) { l.http2.streams_max = 0; },
        [](server_limits& l) { l.output_batch_bytes = 0; },
        [](server_limits& l) { l.http2.stream_window_bytes = 65'534; },
        [](server_limits& l) { l.http2.connection_window_bytes = 0x8000'0000; },
    };
    for (const auto& change : changes) {
        server_limits limits;
        change(limits);
        CHECK_THROWS_AS(sensible(limits), std::invalid_argument);
    }
    server_limits least;
    least.http2.stream_window_bytes = 65'535;
    least.http2.connection_window_bytes = 0x7fff'ffff;
    least.rest_after = server_limits::milliseconds(0);
    CHECK_NOTHROW(sensible(least));
}

TEST_CASE("a time without an end can be added to the clock's") {
    server_limits limits;
    limits.idle_timeout = server_limits::milliseconds::max();
    limits.body_timeout = std::chrono::hours(24);
    const auto now = std::chrono::steady_clock::now();
    CHECK(now + sensible(limits).idle_timeout > now + std::chrono::hours(24 * 365));
    CHECK(sensible(limits).body_timeout == std::chrono::hours(24));
}

} // namespace
} // namespace rota::http
