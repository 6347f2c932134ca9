#pragma once

#include <cstddef>
#include <vector>

#include <sched.h>

#include <rota/runtime.hpp>

namespace rota::bench {

/// The cores that the calling thread may run on.
[[nodiscard]] std::vector<unsigned> usable_cores();

/// Keeps the thread of a running runtime's worker on one core. Waking costs differ by an order of
/// magnitude between one core and two, so a case says which it measures.
void pin_worker(runtime& rt, std::size_t index, unsigned core);

/// Keeps the calling thread on one core as long as it lives. Threads started meanwhile inherit it.
class pinned {
public:
    explicit pinned(unsigned core) noexcept;
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;
    ~pinned();

private:
    cpu_set_t before_;
};

} // namespace rota::bench
