#include "cases.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <rota/channel.hpp>
#include <rota/join.hpp>
#include <rota/runtime.hpp>

#include "cores.hpp"

namespace rota::bench {
namespace {

using std::chrono::nanoseconds;

struct table {
    channel<std::uint64_t> there{1};
    channel<std::uint64_t> back{1};
};

task<void> return_all(table* t) {
    for (;;) {
        const std::optional<std::uint64_t> ball = co_await t->there.pop();
        if (!ball) {
            co_return;
        }
        co_await t->back.push(*ball);
    }
}

task<void> serve(table* t, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        co_await t->there.push(i);
        const std::optional<std::uint64_t> ball = co_await t->back.pop();
        keep(ball);
    }
    t->there.close();
}

/// `games` at once, `count` round trips in all; one side of each plays on worker 0, the other on
/// the runtime's last worker.
/// With `placed` off the scheduler chooses.
nanoseconds play(runtime& rt, std::size_t games, std::uint64_t count, bool placed = true) {
    worker* const near = placed ? rt.worker_at(0) : nullptr;
    worker* const far = placed ? rt.worker_at(rt.worker_count() - 1) : nullptr;
    std::vector<std::unique_ptr<table>> tables;
    std::vector<routine_ptr> players;
    const auto begin = clock::now();
    for (std::size_t i = 0; i < games; ++i) {
        table* const t = tables.emplace_back(std::make_unique<table>()).get();
        const std::uint64_t share = count / games + (i < count % games ? 1 : 0);
        players.push_back(rt.spawn(return_all(t), {.on = far}));
        players.push_back(rt.spawn(serve(t, share), {.on = near}));
    }
    for (const routine_ptr& player : players) {
        player->wait_stopped();
    }
    return clock::now() - begin;
}

} // namespace

void measure_channels(harness& h) {
    {
        runtime rt({.workers = 1});
        rt.start();
        h.time("channel round trip within a worker",
               [&](std::uint64_t n) { return play(rt, 1, n); });
    }
    const std::vector<unsigned> cores = usable_cores();
    runtime rt({.workers = 2});
    rt.start();
    pin_worker(rt, 0, cores[0]);
    pin_worker(rt, 1, cores[0]);
    h.time("channel round trip between two workers on one core",
           [&](std::uint64_t n) { return play(rt, 1, n); });
    if (cores.size() < 2) {
        return;
    }
    pin_worker(rt, 1, cores[1]);
    h.time("channel round trip between two workers on two cores",
           [&](std::uint64_t n) { return play(rt, 1, n); });
    h.time("channel round trip between two workers on two cores, 64 at once",
           [&](std::uint64_t n) { return play(rt, 64, n); });
    h.time("channel round trip between two workers, where the scheduler puts them",
           [&](std::uint64_t n) { return play(rt, 1, n, false); });
}

} // namespace rota::bench
