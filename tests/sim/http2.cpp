// The HTTP server under clients of HTTP/2: many requests at once, through windows of all sizes that
// change, with streams that are given up, or are WebSockets (RFC 8441); and through a drain, behind
// which it is known which requests have been served.

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <rota/event.hpp>
#include <rota/http/websocket.hpp>

#include "h2_client.hpp"
#include "http_peer.hpp"
#include "http_site.hpp"

namespace sim {
namespace {

using rota::task;
using rota::http::request;
using rota::http::response;

task<response> wait(h2_host* in, std::string name) {
    struct entry {
        h2_host& in;
        const std::string& name;
        ~entry() { in.waiting.erase(name); }
    } const me{*in, name};
    {
        const memory::ample here_is_room;
        in->waiting.insert(name);
        in->begun.insert(name);
    }
    rota::event never_set;
    co_await never_set.wait();
    co_return response::text("");
}

/// Much, in pieces, while one of the things that are asked for may be refused.
task<void> write_in_need(std::size_t size, rota::http::body_writer* to) {
    const memory::scarce here_is_little;
    const std::string all = pattern(size);
    for (std::string_view rest = all; !rest.empty();
         rest.remove_prefix(std::min<std::size_t>(rest.size(), 700)))
        co_await to->write(rest.substr(0, 700));
}

task<void> echo(rota::http::websocket ws) {
    for (;;) {
        const std::optional<rota::http::websocket_message> message = co_await ws.read();
        if (!message)
            co_return;
        co_await ws.send(*message);
    }
}

rota::http::websocket_options patient_websockets() {
    rota::http::websocket_options o;
    o.deflate.reset();
    o.message_rate_min_bytes_per_s = 0;
    o.ping_after = std::chrono::hours(9);
    return o;
}

} // namespace

void run_http2() {
    if (!rota::http::has_http2())
        return run_http();
    random& r = here().rng();
    const bool large = r.chance(250);
    if (large)
        simulation::here().net.widen(4096);
    scenario s(large ? setting::together : setting::any);
    rota::http::server_options options = patient_options(r.between(1, 5));
    options.limits.http2.streams_max =
        static_cast<std::uint32_t>(r.chance(150) ? r.between(20, 40) : r.between(1, 8));
    options.limits.http2.stream_window_bytes = 65'535;
    options.limits.http2.connection_window_bytes = r.chance(500) ? 65'535 : 1'048'576;
    options.hooks.on_error = scenario::note_error;
    options.hooks.on_warning = [](std::string_view) {}; // some files change while they are sent
    h2_host in{.s = &s,
               .streams_max = options.limits.http2.streams_max,
               .large = large,
               .drain_timeout = options.drain_timeout};
    options.hooks.on_access = [&in](const rota::http::access_entry& e) {
        if (e.target != "/ws")
            in.log.write(e);
    };
    const rota::io::shared_file from = make_file(site_file_bytes);
    rota::http::router routes = site_routes(from);
    routes.get("/wait/{name}",
               [&in](request& req) { return wait(&in, std::string(req.param("name"))); });
    routes.get("/need/{count}", [](const request& req) {
        const auto size = req.param<std::size_t>("count");
        return response::stream(
            [size](rota::http::body_writer& to) { return write_in_need(size, &to); }, "text/plain");
    });
    routes.get("/ws", rota::http::serve_websockets(echo, patient_websockets()));
    rota::http::server server(s.context(), std::move(routes), options);
    for (std::size_t count = r.between(1, 5); count != 0; --count) {
        s.client([&in] {
            here().sleep(nanoseconds(here().rng().below(50'000'000)));
            visit_by_http2(&in);
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain =
                 [&] {
                     in.drains = here().now();
                     server.drain();
                 },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
    in.log.check();
}

} // namespace sim
