#include "process.hpp"

#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace rota::bench {

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

void keep_on(unsigned core) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
}

pinned::pinned(unsigned core) noexcept {
    CPU_ZERO(&before_);
    ::sched_getaffinity(0, sizeof before_, &before_);
    keep_on(core);
}

pinned::~pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }

double resident_bytes() {
    ::malloc_trim(0);
    std::ifstream statm("/proc/self/statm"); // man 5 proc
    double all = 0;
    double resident = 0;
    statm >> all >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

} // namespace rota::bench
