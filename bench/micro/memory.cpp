#include "cases.hpp"

#include <chrono>
#include <cstddef>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

#include <rota/runtime.hpp>
#include <rota/sleep.hpp>

namespace rota::bench {
namespace {

/// Bytes of the process that are in memory (man 5 proc, statm).
double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double all = 0;
    double resident = 0;
    statm >> all >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

task<void> nap() { co_await sleep_for(std::chrono::hours(1)); }
task<void> nothing() { co_return; }

} // namespace

void measure_memory(harness& h) {
    const char* const name = "memory of a sleeping routine";
    if (!h.wanted(name)) {
        return;
    }
    const std::size_t count = h.quick() ? 20'000 : 100'000;
    runtime rt({.workers = 1});
    rt.block_on(nothing()); // what a runtime needs anyway is there now
    ::malloc_trim(0);
    const double before = resident_bytes();
    for (std::size_t i = 0; i < count; ++i) {
        rt.spawn(nap());
    }
    rt.block_on(nothing()); // runs behind them: all of them sleep now
    const double grown = resident_bytes() - before;
    h.record(name, "bytes", grown / static_cast<double>(count), count);
}

} // namespace rota::bench
