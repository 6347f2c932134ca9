#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rota/io/context.hpp>

#include "jobs/store.hpp"
#include "news.hpp"
#include "pool.hpp"

namespace jobs {

struct postgres_options {
    std::size_t connections = 4; ///< at once, for steps
};

/// Queues in a database that speaks PostgreSQL's protocol, shared by all servers that are given
/// the same URL. Is made without waiting: while the database cannot be had, steps are refused with
/// the reason.
///
/// Each step is a transaction, or shares one with others of its kind (session.hpp). Times
/// are the callers', so the clocks of servers that share queues should agree to well below a lease.
class postgres_store final : public store, private postgres_news_reader {
public:
    /// `on` outlives it. Throws store_error for a URL that libpq does not understand.
    postgres_store(rota::io::context& on, const std::string& url, store_limits limits = {},
                   postgres_options options = {}, id_source lease_ids = random_id);
    /// Does what has been submitted, if that can be done within some seconds. Not from a routine.
    ~postgres_store() override;

    void listen(store_listener* to) noexcept override;
    rota::task<std::vector<add_result>> add(std::string queue, std::vector<new_job> jobs,
                                            std::optional<idempotency> token, time_ms now) override;
    rota::task<std::vector<std::vector<taken_job>>>
    take(std::string queue, std::vector<take_request> wanted, time_ms now) override;
    rota::task<settle_result> settle(std::string queue, std::vector<std::string> acks,
                                     std::vector<retry> retries, time_ms now) override;
    rota::task<extend_result> extend(std::string queue, std::vector<std::string> leases,
                                     std::int64_t lease_ms, time_ms now) override;
    void put_back(std::string queue, std::vector<std::string> leases, bool sent,
                  time_ms now) noexcept override;
    rota::task<time_ms> pass_time(time_ms now) override;
    rota::task<void> probe(time_ms now) override;
    rota::task<std::optional<queue_info>> describe(std::string queue, time_ms now) override;
    rota::task<queue_list> queues(queues_request what, time_ms now) override;
    rota::task<job_list> list(std::string queue, list_request what, time_ms now) override;
    rota::task<std::optional<job_info>> find(std::string queue, std::uint64_t id,
                                             time_ms now) override;
    rota::task<job_list> find_key(std::string queue, std::string key, std::size_t limit,
                                  time_ms now) override;
    rota::task<bool> remove(std::string queue, std::uint64_t id, time_ms now) override;
    rota::task<bool> configure(std::string queue, queue_settings to, time_ms now) override;
    rota::task<bool> pause(std::string queue, bool paused, time_ms now) override;
    rota::task<std::uint64_t> purge(std::string queue, time_ms now) override;
    rota::task<revive_result> retry_dead(std::string queue, std::uint64_t id, time_ms now) override;
    rota::task<removed_queue> remove_queue(std::string queue, bool forced, time_ms now) override;
    rota::task<dead_result> settle_dead(std::string queue, dead_request what, time_ms now) override;

private:
    template <class Need, class Work>
    class call;
    class detached;
    template <class Call>
    static rota::task<typename Call::result> done(Call* of);
    template <class Need, class Work>
    rota::task<std::invoke_result_t<Work&, ledger&>> perform(step_kind kind, std::size_t weight,
                                                             time_ms now, Need need, Work work);
    void told(const std::vector<change>& what) noexcept override;
    void may_have_jobs(const std::string& queue) noexcept override;
    void ends_first(const std::string& queue, time_ms due) noexcept override;

    const store_limits limits_;
    std::mutex listener_lock_; // guards what follows; held while it is told
    store_listener* listener_ = nullptr;

    // In this order: each uses what is above it.
    std::atomic<bool> reachable_{false};
    std::unique_ptr<postgres_news> news_;
    std::unique_ptr<postgres_pool> pool_;
};

} // namespace jobs
