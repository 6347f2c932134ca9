#include "cases.hpp"

#include <chrono>
#include <cstddef>

#include <rota/runtime.hpp>
#include <rota/sleep.hpp>

#include "process.hpp"

namespace rota::bench {
namespace {

task<void> nap() { co_await sleep_for(std::chrono::hours(1)); }
task<void> no_work() { co_return; }

} // namespace

void measure_memory(harness& h) {
    const char* const memory = "memory of a sleeping routine";
    const char* const start = "start a routine that sleeps beside all the others";
    if (!h.wanted(memory) && !h.wanted(start)) {
        return;
    }
    const std::size_t count = h.quick() ? 20'000 : 100'000;
    runtime rt({.workers = 1});
    rt.block_on(no_work()); // what a runtime needs anyway is there now
    const double before = resident_bytes();
    const auto begin = clock::now();
    for (std::size_t i = 0; i < count; ++i) {
        rt.spawn(nap());
    }
    rt.block_on(no_work()); // runs behind them: all of them sleep now
    const std::chrono::duration<double, std::nano> spent = clock::now() - begin;
    const double grown = resident_bytes() - before;
    h.record(memory, "bytes", grown / static_cast<double>(count), count);
    h.record(start, "ns", spent.count() / static_cast<double>(count), count);
}

} // namespace rota::bench
