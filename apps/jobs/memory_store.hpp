#pragma once

#include <exception>
#include <mutex>

#include "ledger_store.hpp"
#include "memory_table.hpp"

namespace jobs {

/// Queues that end with the program; for tests and benchmarks. No thread, no waiting: each step is
/// done on the spot, under a lock.
class memory_store final : public ledger_store {
public:
    explicit memory_store(store_limits limits = {}, id_source lease_ids = random_id)
        : rules_(rows_, limits, std::move(lease_ids)) {}

private:
    bool submit(step& what, std::exception_ptr& error) override;

    std::mutex lock_; // guards what follows
    memory_table rows_;
    ledger rules_;
};

} // namespace jobs
