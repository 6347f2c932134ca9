#include "cores.hpp"

namespace rota::bench {
namespace {

void keep_on(unsigned core) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

task<void> keep_worker_on(unsigned core) {
    keep_on(core);
    co_return;
}

} // namespace

std::vector<unsigned> usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    std::vector<unsigned> cores;
    for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
        if (CPU_ISSET(core, &set)) {
            cores.push_back(core);
        }
    }
    return cores;
}

void pin_worker(runtime& rt, std::size_t index, unsigned core) {
    rt.spawn(keep_worker_on(core), {.on = rt.worker_at(index)})->wait_stopped();
}

pinned::pinned(unsigned core) noexcept {
    CPU_ZERO(&before_);
    ::sched_getaffinity(0, sizeof before_, &before_);
    keep_on(core);
}

pinned::~pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }

} // namespace rota::bench
