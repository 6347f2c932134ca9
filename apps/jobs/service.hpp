#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <rota/auto_event.hpp>
#include <rota/task.hpp>

#include "lease_book.hpp"

namespace jobs {

struct service_options {
    std::chrono::milliseconds lease{30'000};    ///< how long a job may be held before it comes back
    std::size_t jobs_max = 10'000'000;          ///< of one queue, queued and in progress
    std::size_t queues_max = 10'000;            ///< more are refused
    std::size_t payload_bytes_max = 262'144;    ///< without white space
    std::size_t key_bytes_max = 512;            ///< of a key that is given
    std::size_t request_bytes_max = 1'048'576;  ///< one request's content, or one line of many
    std::size_t take_max = 1'000;               ///< jobs given out at once
    std::chrono::milliseconds wait_max{60'000}; ///< for a job to come
};

struct acknowledged {
    std::size_t acked = 0;
    std::size_t retried = 0;
    std::vector<std::string> lost; ///< leases that had ended, or never were
};

struct queue_summary {
    std::string name;
    rota::job_counts counts;
};

class service;

/// Leases whose ids are on their way to a consumer. Unless delivered() is called their jobs are put
/// back at the end. Move-only; one thread at a time; the service outlives it.
class delivery {
public:
    delivery(service& owner, std::shared_ptr<job_queue> queue,
             std::vector<std::string> ids) noexcept
        : service_(&owner), queue_(std::move(queue)), ids_(std::move(ids)) {}
    delivery(delivery&&) noexcept = default;
    delivery& operator=(delivery&&) = delete;
    ~delivery();
    void delivered() noexcept { ids_.clear(); }

private:
    service* service_;
    std::shared_ptr<job_queue> queue_;
    std::vector<std::string> ids_; // moved from: empty
};

/// Distinct job queues by name, with leases that end. Knows nothing of HTTP.
///
/// A queue exists from first use; one that is empty and that nobody uses may be forgotten when
/// there are too many. Any thread, but for what suspends: that is for routines.
class service {
public:
    explicit service(service_options options = {}) : options_(options) {}
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    [[nodiscard]] const service_options& options() const noexcept { return options_; }

    /// Puts the jobs of ended leases back, when they end. To be run as one routine for as long as
    /// the service is used; ends by operation_cancelled.
    [[nodiscard]] rota::task<void> end_leases();
    /// From now on nobody waits for jobs; those who do get none. Idempotent.
    void drain() noexcept { draining_.request_stop(); }

    /// The queue of that name, made if need be; null if there are too many.
    [[nodiscard]] std::shared_ptr<job_queue> open(std::string_view name);
    /// The queue of that name, null if there is none.
    [[nodiscard]] std::shared_ptr<job_queue> find(std::string_view name) const;
    /// Every queue, by name.
    [[nodiscard]] std::vector<queue_summary> queues() const;

    /// At least one job, `max` at most, as soon as there are any; none after `wait`, on drain(), or
    /// as soon as `client_gone` ends. Jobs that come too late for that stay where they are.
    [[nodiscard]] rota::task<job_queue::lease> wait_for_jobs(std::shared_ptr<job_queue> queue,
                                                             std::size_t max,
                                                             std::chrono::milliseconds wait,
                                                             rota::task<void> client_gone);
    /// Fresh ids for `count` leases: nobody can guess one.
    [[nodiscard]] static std::vector<std::string> new_lease_ids(std::size_t count);
    /// Starts a lease for each of `jobs`, under `ids`, in order.
    [[nodiscard]] delivery hand_out(std::shared_ptr<job_queue> queue, job_queue::lease jobs,
                                    std::vector<std::string> ids, lease_book::time_point now);
    /// Ends leases: the jobs of `acks` are done, those of `retries` go back to their places.
    acknowledged acknowledge(const job_queue& queue, std::span<const std::string> acks,
                             std::span<const std::string> retries);
    /// The jobs of leases that nobody was told of go back to their places.
    void put_back(const job_queue& queue, std::span<const std::string> ids) noexcept;
    /// How many jobs have been put back because their lease had ended.
    [[nodiscard]] std::uint64_t expired() const noexcept {
        return expired_.load(std::memory_order_relaxed);
    }

private:
    void forget_unused();
    void put_back_ended(lease_book::time_point now);
    static rota::task<void> wait_for(rota::auto_event* change);

    const service_options options_;
    std::stop_source draining_;
    lease_book leases_;
    rota::auto_event earlier_end_; // the next lease ends earlier than the one before
    std::atomic<std::uint64_t> expired_{0};

    mutable std::shared_mutex lock_; // guards what follows
    std::map<std::string, std::shared_ptr<job_queue>, std::less<>> queues_;
};

} // namespace jobs
