#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <rota/detail/parker.hpp>
#include <rota/detail/quiet_thread.hpp>

#include "database.hpp"
#include "file_reserve.hpp"
#include "jobs/rules/ledger.hpp"
#include "jobs/store.hpp"
#include "table.hpp"

namespace jobs {

/// Queues in a SQLite file, which is this store's alone while it lives.
///
/// One thread works on the file. It takes all steps that have gathered while it was busy, does them
/// in one transaction, and answers them once that is on disk: a step that is done is durable, the
/// more there are at once the cheaper each is, and no worker waits for a disk. If anything of a
/// transaction fails all of its steps have failed, and nothing of them is kept.
///
/// On a full disk jobs can be taken and finished. What that needs is: room in the log, in which
/// each commit is written first, and room in the file, since rows and indexes grow when jobs are
/// taken. Whatever is committed has its room in the file already, so the log can always be written
/// back and be begun anew: it is never more than one transaction that has to find room. For that a
/// file beside it holds some, twice as much at least as its largest job takes. It is given up when
/// something fails for want of room; from then on what adds jobs is refused, each step is a
/// transaction of its own, which is tried with fewer jobs if it has no room, and the log is written
/// back at every commit. Jobs are added again once the reserve can be made again, or as many pages
/// within the file are empty as it had.
class sqlite_store final : public store {
public:
    /// Throws store_error.
    explicit sqlite_store(const std::string& path, store_limits limits = {},
                          id_source lease_ids = random_id);
    /// Does what has been submitted, and closes the file.
    ~sqlite_store() override;

private:
    bool submit(store_step& what, std::exception_ptr& error) override;
    /// What has become of steps: `why` is empty if they are done.
    struct outcome {
        std::string why{};
        store_fault kind = store_fault::failed;
    };
    using steps = std::span<store_step* const>;

    void work();
    void do_all(steps all) noexcept;
    void do_together(steps all) noexcept;
    void do_alone(store_step& one) noexcept;
    [[nodiscard]] outcome attempt(steps all) noexcept;
    [[nodiscard]] outcome attempt_on_full_disk(store_step& one) noexcept;
    [[nodiscard]] bool has_slack(std::uint64_t size, std::uint64_t unused);
    void commit(bool adds);
    [[nodiscard]] static outcome failed(const char* why,
                                        store_fault kind = store_fault::failed) noexcept;
    static void answer(steps all, const outcome& of) noexcept;
    void make_room() noexcept;
    void write_back_normally() noexcept;
    [[nodiscard]] bool may_add(const store_step& what) noexcept;

    // -- the store's thread, once it runs
    sqlite_database file_;
    sqlite_table rows_;
    ledger rules_;
    file_reserve reserve_;
    bool stale_ = false;      // a transaction has failed: what the ledger knows may not be so
    bool full_ = false;       // the reserve has been given up
    std::uint64_t allocated_; // of the disk, by the file

    // -- any thread
    rota::parker gathered_;
    std::mutex lock_; // guards what follows
    std::vector<store_step*> steps_;
    bool ending_ = false;

    rota::quiet_thread thread_; // last: it uses all of the above
};

} // namespace jobs
