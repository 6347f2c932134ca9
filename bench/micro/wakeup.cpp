#include "cases.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rota/detail/runnable.hpp>
#include <rota/runtime.hpp>
#include <rota/worker.hpp>

#include "cores.hpp"

namespace rota::bench {
namespace {

using std::chrono::nanoseconds;

/// Notes when it was run.
class note_time : public runnable {
public:
    note_time() noexcept : runnable(&note_time::run) {}

    void arm() noexcept { ran_at_.store(0, std::memory_order_relaxed); }
    [[nodiscard]] std::int64_t ran_at() const noexcept {
        return ran_at_.load(std::memory_order_acquire);
    }

private:
    static void run(runnable& self) noexcept {
        // Released to the poster, which reads it.
        static_cast<note_time&>(self).ran_at_.store(clock::now().time_since_epoch().count(),
                                                    std::memory_order_release);
    }
    std::atomic<std::int64_t> ran_at_{0};
};

/// Until the worker has said that it sleeps, and then as long as it takes to do so.
void await_sleep(const worker& w) {
    while (w.state() != baton::parked) {
    }
    const auto until = clock::now() + std::chrono::microseconds(100);
    while (clock::now() < until) {
    }
}

enum class side { poster, worker };

/// Posts to the sleeping worker `count` times. The medians times `count`, since one preemption
/// outweighs hundreds of wake-ups: of the time that post() takes its caller, or of the time from
/// before post() until the worker runs what was posted.
nanoseconds wake(worker& w, std::uint64_t count, side of) {
    std::vector<std::int64_t> each;
    each.reserve(static_cast<std::size_t>(count));
    note_time note;
    for (std::uint64_t i = 0; i < count; ++i) {
        note.arm();
        await_sleep(w);
        const std::int64_t begin = clock::now().time_since_epoch().count();
        w.post(note);
        const std::int64_t posted = clock::now().time_since_epoch().count();
        while (note.ran_at() == 0) {
        }
        each.push_back((of == side::poster ? posted : note.ran_at()) - begin);
    }
    const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
    std::nth_element(each.begin(), middle, each.end());
    return nanoseconds(*middle * static_cast<std::int64_t>(count));
}

} // namespace

void measure_wakeup(harness& h) {
    const std::vector<unsigned> cores = usable_cores();
    if (cores.size() < 2) {
        return;
    }
    runtime rt({.workers = 1});
    rt.start();
    pin_worker(rt, 0, cores[1]);
    const pinned poster(cores[0]);
    worker& w = *rt.worker_at(0);
    h.time("wake a parked worker on another core: until it runs",
           [&](std::uint64_t n) { return wake(w, n, side::worker); });
    h.time("wake a parked worker on another core: cost to the one who wakes",
           [&](std::uint64_t n) { return wake(w, n, side::poster); });
}

} // namespace rota::bench
