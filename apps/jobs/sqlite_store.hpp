#pragma once

#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <rota/parker.hpp>
#include <rota/quiet_thread.hpp>

#include "ledger_store.hpp"
#include "sqlite_database.hpp"
#include "sqlite_table.hpp"

namespace jobs {

/// Queues in a SQLite file, which is this store's alone while it lives.
///
/// One thread works on the file. It takes all steps that have gathered while it was busy, does them
/// in one transaction, and answers them once that is on disk: a step that is done is durable, the
/// more there are at once the cheaper each is, and no worker waits for a disk. If anything of a
/// transaction fails all of its steps have failed, and nothing of them is kept.
class sqlite_store final : public ledger_store {
public:
    /// Throws store_error.
    explicit sqlite_store(const std::string& path, store_limits limits = {},
                          id_source lease_ids = random_id);
    /// Does what has been submitted, and closes the file.
    ~sqlite_store() override;

private:
    bool submit(step& what, std::exception_ptr& error) override;
    void work();
    void do_together(std::vector<step*>& steps) noexcept;

    // -- the store's thread, once it runs
    sqlite_database file_;
    sqlite_table rows_;
    ledger rules_;
    bool stale_ = false; // a transaction has failed: what the ledger knows may not be so

    // -- any thread
    rota::parker gathered_;
    std::mutex lock_; // guards what follows
    std::vector<step*> steps_;
    bool ending_ = false;

    rota::quiet_thread thread_; // last: it uses all of the above
};

} // namespace jobs
