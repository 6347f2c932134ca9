#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rota/auto_event.hpp>
#include <rota/task.hpp>

#include "event_log.hpp"
#include "jobs/rules/time_of_day.hpp"
#include "jobs/watch/job_times.hpp"
#include "jobs/watch/store_watch.hpp"
#include "store.hpp"
#include "taker_line.hpp"

namespace jobs {

struct service_options {
    std::size_t payload_bytes_max = 262'144;    ///< see payload_size()
    std::size_t key_bytes_max = 512;            ///< of a key that is given
    std::size_t error_bytes_max = 4'096;        ///< that comes with a retry
    std::size_t request_bytes_max = 1'048'576;  ///< one request's content, or one line of many
    std::size_t take_max = 1'000;               ///< jobs given out at once
    std::chrono::milliseconds wait_max{60'000}; ///< for a job to come
    std::chrono::milliseconds lease_max{lease_ms_max};
    std::chrono::milliseconds delay_max{2'592'000'000}; ///< 30 days
    std::size_t watched_max = 20'000; ///< queues in use at once, whether they hold jobs or not
    std::size_t events_kept = 500;    ///< of each queue
    /// Returns what is to be added now to the workers' clock to get the time of day, which the
    /// store works with. Called again once a second: time_of_day.
    std::function<std::chrono::nanoseconds()> wall_offset = steady_to_wall;
};

class service;

/// What a service knows of a queue besides what the store does: its waiting consumers, and its
/// watchers.
struct watched_queue {
    watched_queue(std::string n, std::size_t events_kept, std::uint64_t last_event)
        : name(std::move(n)), log(events_kept, last_event) {}
    const std::string name;
    taker_line line;
    event_log log;
    job_times times;
};
using watched_ptr = std::shared_ptr<watched_queue>;

/// Leases whose ids are on their way to a consumer. Unless delivered() is called their jobs are put
/// back at the end. Move-only; one thread at a time; the service outlives it.
class delivery {
public:
    delivery(service& owner, watched_ptr queue, std::vector<std::string> leases) noexcept
        : service_(&owner), queue_(std::move(queue)), leases_(std::move(leases)) {}
    delivery(delivery&&) noexcept = default;
    delivery& operator=(delivery&&) = delete;
    ~delivery();
    void delivered() noexcept { leases_.clear(); }

private:
    service* service_;
    watched_ptr queue_;
    std::vector<std::string> leases_; // moved from: empty
};

/// Distinct job queues by name, over a store: lets consumers wait, in order, and ends leases and
/// delays at their time. Knows nothing of HTTP. Reads no clock but the workers'.
///
/// Calls that do not wait are made on the store itself: backing(), with the time of now(). Any
/// thread, except for what suspends: that is for routines.
class service final : private store_listener {
public:
    /// `jobs` is this service's alone, and outlives it.
    explicit service(store& jobs, service_options options = {});
    service(const service&) = delete;
    service& operator=(const service&) = delete;
    ~service();

    [[nodiscard]] const service_options& options() const noexcept { return options_; }
    [[nodiscard]] jobs::store& backing() const noexcept { return store_; }
    /// Returns the time of day, by the clock of the calling worker, or of the machine.
    [[nodiscard]] time_ms now() const noexcept;
    /// Returns when that time is, by the workers' clock, unless the time of day is set meanwhile.
    [[nodiscard]] std::chrono::steady_clock::time_point steady(time_ms when) const noexcept;
    /// Returns when it was made, which distinguishes services in the ids of events.
    [[nodiscard]] time_ms epoch() const noexcept { return epoch_; }

    /// Ends leases and delays at their time, and puts back what could not be put back in time, as
    /// soon as the store can be used. To be run as one routine for as long as the service is used;
    /// ends by operation_cancelled.
    [[nodiscard]] rota::task<void> end_leases();
    /// Returns what is known of the store and its queues, while two more routines run:
    /// watch().probe() and watch().list().
    [[nodiscard]] store_watch& watch() noexcept { return watch_; }
    /// Returns the times of jobs of up to `limit` queues that have any, by name.
    [[nodiscard]] std::vector<job_times::seen> times(std::size_t limit) const;
    /// Ends all waits for jobs and events, with none, now and later. Idempotent.
    void drain() noexcept { draining_.request_stop(); }
    [[nodiscard]] std::stop_token drain_token() const noexcept { return draining_.get_token(); }

    /// Returns the queue of that name, whether the store has it yet or not; null if too many are in
    /// use.
    [[nodiscard]] watched_ptr open(std::string_view name);

    /// Waits for jobs and returns at least one, at most `wanted.max`, as soon as there are any;
    /// none after `wait`, on drain(), or as soon as `client_gone` ends, if there is one. Jobs that
    /// come too late for that are put back as if they had not been taken. Throws store_error.
    [[nodiscard]] rota::task<std::vector<taken_job>>
    wait_for_jobs(watched_ptr queue, take_request wanted, std::chrono::milliseconds wait,
                  rota::task<void> client_gone = {});
    /// Returns jobs that are there now and that no other consumer waits for: none, if those that
    /// wait already leave none. Throws store_error.
    [[nodiscard]] rota::task<std::vector<taken_job>> take_now(watched_ptr queue,
                                                              take_request wanted);
    /// Waits until the queue has an event after number `after`. Returns true; false after `wait` or
    /// on drain().
    [[nodiscard]] rota::task<bool> wait_for_event(watched_ptr queue, std::uint64_t after,
                                                  std::chrono::milliseconds wait);

private:
    void changed(std::span<const change> what) noexcept override;
    void look_again(const std::string& queue, time_ms due) noexcept override;
    rota::task<void> end_due();
    rota::task<void> return_jobs();
    void plan(time_ms due) noexcept;
    rota::task<void> wait_until(time_ms due);
    rota::task<std::vector<taken_job>> stand_in_line(watched_ptr queue, take_request wanted,
                                                     bool waits);

    jobs::store& store_;
    const service_options options_;
    const time_of_day clock_;
    const time_ms epoch_;
    std::stop_source draining_;
    store_watch watch_;

    std::mutex plan_lock_;     // guards what follows
    time_ms planned_ = 0;      // when the store is to be called next
    rota::auto_event earlier_; // it is planned for earlier than before

    mutable std::shared_mutex lock_; // guards what follows
    std::map<std::string, watched_ptr, std::less<>> queues_;
    /// Beyond all events of queues that it has forgotten, so that their numbers show the gap.
    std::uint64_t last_forgotten_ = 0;
};

} // namespace jobs
