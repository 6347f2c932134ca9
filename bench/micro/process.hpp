#pragma once

#include <vector>

#include <sched.h>

/// What a case asks of its own process. Nothing of the framework: the peers use it too.
namespace rota::bench {

/// The cores that the calling thread may run on.
[[nodiscard]] std::vector<unsigned> usable_cores();

/// Keeps the calling thread on one core from now on. Threads started by it inherit that.
void keep_on(unsigned core) noexcept;

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

/// Bytes of the process that are in memory. Free ones of the heap are given back before.
[[nodiscard]] double resident_bytes();

} // namespace rota::bench
