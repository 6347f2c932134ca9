#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include <rota/detail/runnable.hpp>
#include <rota/owner_wait.hpp>
#include <rota/worker.hpp>

#include "jobs/store.hpp"
#include "ledger.hpp"

namespace jobs {

/// What a step needs of a disk: it looks and changes little; it writes although there may be
/// nothing to be changed, to see whether that can be done; or it adds about so many bytes.
struct step_nature {
    bool probes = false;
    std::size_t adds_bytes = 0; ///< 0: it adds nothing
};

/// A store over a ledger: says what is to be done; a class derived from it says where and when.
class ledger_store : public store {
public:
    void listen(store_listener* to) noexcept final;
    rota::task<std::vector<add_result>> add(std::string queue, std::vector<new_job> jobs,
                                            std::optional<idempotency> token, time_ms now) final;
    rota::task<std::vector<std::vector<taken_job>>>
    take(std::string queue, std::vector<take_request> wanted, time_ms now) final;
    rota::task<settle_result> settle(std::string queue, std::vector<std::string> acks,
                                     std::vector<retry> retries, time_ms now) final;
    rota::task<extend_result> extend(std::string queue, std::vector<std::string> leases,
                                     std::int64_t lease_ms, time_ms now) final;
    void put_back(std::string queue, std::vector<std::string> leases, bool sent,
                  time_ms now) noexcept final;
    rota::task<time_ms> pass_time(time_ms now) final;
    rota::task<void> probe(time_ms now) final;
    rota::task<std::optional<queue_info>> describe(std::string queue, time_ms now) final;
    rota::task<queue_list> queues(queues_request what, time_ms now) final;
    rota::task<job_list> list(std::string queue, list_request what, time_ms now) final;
    rota::task<std::optional<job_info>> find(std::string queue, std::uint64_t id,
                                             time_ms now) final;
    rota::task<job_list> find_key(std::string queue, std::string key, std::size_t limit,
                                  time_ms now) final;
    rota::task<bool> remove(std::string queue, std::uint64_t id, time_ms now) final;
    rota::task<bool> configure(std::string queue, queue_settings to, time_ms now) final;
    rota::task<bool> pause(std::string queue, bool paused, time_ms now) final;
    rota::task<std::uint64_t> purge(std::string queue, time_ms now) final;
    rota::task<revive_result> retry_dead(std::string queue, std::uint64_t id, time_ms now) final;
    rota::task<removed_queue> remove_queue(std::string queue, bool forced, time_ms now) final;
    rota::task<dead_result> settle_dead(std::string queue, dead_request what, time_ms now) final;

protected:
    /// One step on its way through the store: run(), then done() once, after which it may be
    /// gone.
    class step {
    public:
        /// Throws what the ledger throws. Unless it adds, it may then be called once more.
        virtual void run(ledger& on) = 0;
        /// It is in force, or has not been done because of `error`.
        virtual void done(std::exception_ptr error) noexcept = 0;
        [[nodiscard]] step_nature nature() const noexcept { return nature_; }

    protected:
        explicit step(step_nature what) noexcept : nature_(what) {}
        ~step() = default;

    private:
        const step_nature nature_;
    };

    /// Takes a step. True: done() will be called, on any thread. False: it has been done, with
    /// `error` set if it failed, and done() is not called.
    virtual bool submit(step& what, std::exception_ptr& error) = 0;
    /// Tells the listeners; steps being in force.
    void tell(const std::vector<change>& what) noexcept;

private:
    template <class Work>
    class call;
    class detached;
    template <class Work>
    rota::task<std::invoke_result_t<Work&, ledger&>> perform(Work work, step_nature what = {});

    std::mutex listener_lock_; // guards what follows; held while it is told
    store_listener* listener_ = nullptr;
};

} // namespace jobs
