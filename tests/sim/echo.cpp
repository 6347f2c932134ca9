// Lines that come back: the io::server with a handler of a few lines.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <rota/io/server.hpp>

#include "scenario.hpp"

namespace sim {
namespace {

using rota::task;
using rota::io::connection;

/// A line that is other bytes once nobody holds it. `held` counts those that are held.
rota::io::shared_bytes watched(std::string_view line, std::shared_ptr<int> held) {
    const std::size_t size = line.size() + 1;
    auto bytes = std::make_unique<char[]>(size);
    *std::copy(line.begin(), line.end(), bytes.get()) = '\n';
    char* const all = bytes.get();
    ++*held;
    const auto gone = [size, held](char* p) {
        std::fill_n(p, size, '?');
        delete[] p;
        --*held;
    };
    bytes.release(); // from here on it goes by `gone`
    return {std::shared_ptr<const char[]>(std::shared_ptr<char[]>(all, gone)), size};
}

/// A line in bytes that are shared, which nobody holds any more once they have been sent.
task<void> write_shared(connection* client, std::string_view line, std::shared_ptr<int> held) {
    rota::io::shared_bytes bytes = watched(line, held);
    co_await client->write_shared(std::move(bytes));
    if (line.size() % 4 != 3)
        co_return;
    co_await client->flush();
    here().require(*held == 0, "bytes are held that have been sent");
}

/// Handlers hold their thread in so many of a thousand lines, now and then so long that another one
/// receives.
task<void> echo_lines(connection client, unsigned holds) {
    random& r = here().rng();
    const auto held = std::make_shared<int>(0);
    for (;;) {
        const std::optional<std::string> line = co_await client.read_line();
        if (!line)
            co_return;
        simulation::here().check_role("rota-worker");
        if (r.chance(holds))
            here().sleep(nanoseconds(r.below(400'000'000)));
        if (line->size() % 2 == 1)
            co_await write_shared(&client, *line, held);
        else
            co_await client.write_line(*line);
    }
}

/// Whatever arrived, it is the beginning of what has to arrive.
void check_prefix(std::string_view sent, std::string_view got) {
    here().require(sent.substr(0, got.size()) == got, "the echo is not what was sent");
}

void echo_client(const scenario* s) {
    random& r = here().rng();
    here().sleep(nanoseconds(r.below(50'000'000)));
    peer p(port);
    if (p.refused())
        return here().require(s->ending(), "the server refuses clients");
    constexpr std::size_t rooms[] = {1, 50, 65536};
    constexpr nanoseconds pauses[] = {nanoseconds(0), nanoseconds(0), nanoseconds(10'000'000)};
    p.set_room(r.one_of(rooms));
    const nanoseconds pause = r.one_of(pauses);
    const std::string lines = draw_lines(r);
    const std::size_t way = r.below(8);
    std::string got;
    if (way == 0) { // resets, or goes, in the middle of it
        p.send_slowly(std::string_view(lines).substr(0, r.below(lines.size())), pause);
        here().sleep(nanoseconds(r.below(20'000'000)));
        if (r.chance(500))
            p.reset();
        return;
    }
    p.send_slowly(lines, pause);
    if (way < 4 && s->lingers_shortly()) { // takes nothing, and is not waited for in the end
        p.half_close();
        p.take_nothing(here().now() + std::chrono::seconds(2));
        if (s->ending())
            return p.take_nothing(never);
    }
    if (way < 5) { // the end of the stream is the last line
        p.half_close();
        const peer::event e = p.read_all(got, pause);
        check_prefix(lines, got);
        if (!s->may_cut())
            here().require(e == peer::event::end && got == lines, "a half-close is not answered");
        return;
    }
    while (got.size() < lines.size()) {
        const peer::event e = p.wait();
        if (e != peer::event::bytes)
            return here().require(s->ending() || memory::was_short(), "the echo ends too early");
        got += p.read();
        check_prefix(lines, got);
    }
}

} // namespace

void run_echo() {
    random& r = here().rng();
    const unsigned holds = r.chance(500) ? 300 : 0;
    scenario s(holds != 0 && r.chance(700) ? setting::held_up : setting::any);
    rota::io::server_options options;
    options.listen = {rota::io::endpoint::parse(address)};
    options.max_connections = r.between(1, 6);
    options.drain_timeout = std::chrono::seconds(10);
    rota::io::server server(
        s.context(), [holds](connection c) { return echo_lines(std::move(c), holds); }, options);
    for (std::size_t count = r.between(1, 6); count != 0; --count) {
        s.client([&s, times = r.chance(300) ? r.between(2, 5) : 1] {
            for (std::size_t left = times; left != 0; --left)
                echo_client(&s);
        });
    }
    s.serve({.run = [&server] { return server.run(); },
             .drain = [&server] { server.drain(); },
             .connections = [&server] { return server.connections(); },
             .connections_max = options.max_connections});
}

} // namespace sim
