#include "cases.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rota/least_loaded_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/worker.hpp>

namespace rota::bench {
namespace {

using std::chrono::nanoseconds;

/// The bare decision: `count` times the lightest of the workers, which takes one more connection.
nanoseconds pick_often(runtime& rt, std::uint64_t count) {
    std::vector<worker*> workers;
    workers.reserve(rt.worker_count());
    for (std::size_t i = 0; i < rt.worker_count(); ++i) {
        workers.push_back(rt.worker_at(i));
    }
    least_loaded_scheduler scheduler;
    std::vector<std::size_t> taken(workers.size());
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t picked =
            scheduler.pick(workers.size(), [&](std::size_t w) { return workers[w]->load(); });
        workers[picked]->add_connection();
        ++taken[picked];
    }
    const nanoseconds spent = clock::now() - begin;
    for (std::size_t w = 0; w < workers.size(); ++w) {
        for (; taken[w] != 0; --taken[w]) {
            workers[w]->remove_connection();
        }
    }
    return spent;
}

/// What a spawn or an accept does: decide and take the place, under the runtime's lock.
nanoseconds assign_often(runtime& rt, std::uint64_t count) {
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
        const assignment place = rt.assign();
        keep(place);
    }
    return clock::now() - begin;
}

} // namespace

void measure_scheduler(harness& h) {
    runtime eight({.workers = 8}); // never started: no thread disturbs
    h.time("pick the least loaded of 8 workers",
           [&](std::uint64_t n) { return pick_often(eight, n); });
    runtime many({.workers = 64});
    h.time("pick the least loaded of 64 workers, in batches of 8",
           [&](std::uint64_t n) { return pick_often(many, n); });
    h.time("take a place on the least loaded of 8 workers",
           [&](std::uint64_t n) { return assign_often(eight, n); });
}

} // namespace rota::bench
