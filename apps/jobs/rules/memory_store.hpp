#pragma once

#include <cstddef>
#include <exception>
#include <mutex>

#include "jobs/store.hpp"
#include "ledger.hpp"
#include "memory_table.hpp"

namespace jobs {

/// Queues that end with the program; for tests and benchmarks. No thread, no waiting: each step is
/// done on the spot, under a lock, or not at all: one that lacks memory is undone.
class memory_store : public store {
public:
    explicit memory_store(store_limits limits = {}, id_source lease_ids = random_id)
        : rules_(rows_, limits, std::move(lease_ids)) {}

    /// The caller's worker does it: little at a time, so that others have their turn.
    [[nodiscard]] std::size_t add_bytes() const noexcept override { return 0; }

protected:
    bool submit(store_step& what, std::exception_ptr& error) override;

private:
    std::mutex lock_; // guards what follows
    memory_table rows_;
    ledger rules_;
    bool stale_ = false; // rules_, a step having been undone
};

} // namespace jobs
