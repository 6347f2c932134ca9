#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rota/task.hpp>

#include "job_types.hpp"
#include "jobs/rules/unreturned.hpp"
#include "jobs/watch/store_health.hpp"
#include "store_error.hpp"

namespace jobs {

class ledger;
class store_step;

/// Called with changes once they are in force (in a durable store: on disk), in their order.
class store_listener {
public:
    /// Called with changes. Any thread, one at a time. Must not call the store.
    virtual void changed(std::span<const change> what) noexcept = 0;
    /// Called by a store that is shared with others: a queue may have jobs to be taken, or, unless
    /// `due` is 0, pass_time() is needed after that; no change has told of it. Otherwise like
    /// changed().
    virtual void look_again(const std::string& queue, time_ms due) noexcept {
        (void)queue;
        (void)due;
    }

protected:
    ~store_listener() = default;
};

/// Where queues live, and what they are: a job is in its queue once per key, from when it is added
/// until it is acknowledged or dies; leases and delays end at their time; a job that is given back
/// returns to its old place, and waits there if it has failed too often in a row (backoff.hpp).
/// Every store keeps the same rules (tests/apps/jobs/store.cpp).
///
/// Each call is one step: it is done wholly or not at all, and once it has returned it is in force.
/// Leases and delays whose time is before `now` have ended for it, whether or not pass_time() was
/// called: before and not at, since times are cut to milliseconds and nothing ends early. Throws
/// store_error; operation_cancelled before it has begun, never after. Any thread, from routines.
class store {
public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    /// Tells `to` of changes from now on; null: nothing is told. The previous listener is not
    /// called once this returns. It outlives the store, or the next call of this.
    void listen(store_listener* to) noexcept;
    /// Returns the health of the store, by the outcome of its calls.
    [[nodiscard]] store_health& health() noexcept { return health_; }

    /// Returns about how many bytes are best added at once, of many jobs. A step costs the same for
    /// few as for many jobs, unless it is done on the calling thread.
    [[nodiscard]] virtual std::size_t add_bytes() const noexcept { return 65'536; }
    /// Adds jobs. Returns one result for each, in order. A token is for a single job.
    rota::task<std::vector<add_result>> add(std::string queue, std::vector<new_job> jobs,
                                            std::optional<idempotency> token, time_ms now);
    /// Takes jobs for consumers, in their order: for each as many as there are, up to its max.
    rota::task<std::vector<std::vector<taken_job>>>
    take(std::string queue, std::vector<take_request> wanted, time_ms now);
    rota::task<settle_result> settle(std::string queue, std::vector<std::string> acks,
                                     std::vector<retry> retries, time_ms now);
    /// Extends leases to `lease_ms` from now; 0: as the queue is set to.
    rota::task<extend_result> extend(std::string queue, std::vector<std::string> leases,
                                     std::int64_t lease_ms, time_ms now);
    /// Puts back jobs that did not reach their consumer, some time soon; `sent`: they may have, so
    /// that it counts as an attempt. Does not wait, and cannot fail: what cannot be done now is for
    /// put_back_again(), and at worst the leases end by themselves.
    void put_back(std::string queue, std::vector<std::string> leases, bool sent,
                  time_ms now) noexcept;
    /// Puts back some of what put_back() could not, or of what was given out by a take of which it
    /// is not known whether it was done. Returns false if there is none. Throws store_error: then
    /// it is kept for the next call.
    rota::task<bool> put_back_again(time_ms now);
    /// Returns an event that is notified when there is something for put_back_again().
    [[nodiscard]] rota::auto_event& unreturned_more() noexcept { return unreturned_.more(); }
    /// Tries once more, before the end, all that is for put_back_again(). Does not wait.
    void put_back_rest(time_ms now) noexcept;
    /// Ends what ends by now. Returns when it is needed next, or never.
    rota::task<time_ms> pass_time(time_ms now);
    /// Returns if jobs could be added now, as far as that can be determined with little effort.
    rota::task<void> probe(time_ms now);

    rota::task<std::optional<queue_info>> describe(std::string queue, time_ms now);
    /// Returns the jobs that hold that key: first the one that is there, then the dead, the latest
    /// first. Ends early where their payloads add up to those of a list.
    rota::task<job_list> find_key(std::string queue, std::string key, std::size_t limit,
                                  time_ms now);
    /// Returns queues by name.
    rota::task<queue_list> queues(queues_request what, time_ms now);
    rota::task<job_list> list(std::string queue, list_request what, time_ms now);
    rota::task<std::optional<job_info>> find(std::string queue, std::uint64_t id, time_ms now);
    /// Removes a job; returns false if there is none. A lease of it is lost.
    rota::task<bool> remove(std::string queue, std::uint64_t id, time_ms now);
    /// Sets a queue. Returns what describe() would return then; nothing if there are too many
    /// queues.
    rota::task<std::optional<queue_info>> configure(std::string queue, queue_settings to,
                                                    time_ms now);
    /// Does what configure() does, for one setting.
    rota::task<std::optional<queue_info>> pause(std::string queue, bool paused, time_ms now);
    /// Removes everything that is not in progress; returns how many jobs that were. The one call
    /// that is many steps, so that others need not wait for all of it: each removes some, and is in
    /// force whatever happens to the next. What is added meanwhile stays, and so does a queue that
    /// has been made anew meanwhile; but where ids are drawn before jobs are there (PostgreSQL),
    /// what others were adding as it began may be removed or stay. So may what is given back
    /// meanwhile. Listeners are told at its end.
    rota::task<std::uint64_t> purge(std::string queue, time_ms now);
    /// Puts a dead job back to its place, as if it had never been tried.
    rota::task<revive_result> retry_dead(std::string queue, std::uint64_t id, time_ms now);
    /// Removes a slice of what a queue holds, and the queue with its settings once it holds
    /// nothing. From the first slice on it is paused. Refused while jobs are in progress, unless
    /// `forced`: their leases are lost then. `number`: what the previous slice returned, so that a
    /// queue that has been made anew meanwhile stays; 0 for the first.
    rota::task<removed_queue> remove_queue(std::string queue, bool forced, time_ms now,
                                           std::uint64_t number = 0);
    /// Handles a slice of the dead, revived as by retry_dead() or removed. The caller asks for the
    /// next one, with the number of the queue: of a queue that has been made anew meanwhile there
    /// is none.
    rota::task<dead_result> settle_dead(std::string queue, dead_request what, time_ms now);

protected:
    /// Takes a step. Returns true if its done() will be called, on any thread; false if it has been
    /// done, with `error` set if it failed, and done() is not called.
    virtual bool submit(store_step& what, std::exception_ptr& error) = 0;
    /// Takes back a step that has not begun; returns true if it did, and done() will not be called.
    /// `shuts_down`: the routine that waits for it has been stopped, so one that has begun is not
    /// to take long.
    virtual bool withdraw(store_step&, bool /*shuts_down*/) noexcept { return false; }
    /// Returns how long a step waits for its beginning before it has failed; 0: for as long as that
    /// takes.
    [[nodiscard]] virtual std::chrono::steady_clock::duration begin_within() const noexcept {
        return {};
    }
    /// Notes that a consumer would have taken jobs of that queue, and there were none.
    virtual void wish(const std::string& queue) noexcept { (void)queue; }

    /// Tells the listener of changes, which are in force.
    void tell(const std::vector<change>& what) noexcept;
    void tell_to_look(const std::string& queue, time_ms due) noexcept;

private:
    template <class Operation>
    class call;
    class detached;
    template <class Operation>
    using result_of = decltype(std::declval<Operation&>().run(std::declval<ledger&>()));
    template <class Call>
    static rota::task<typename Call::result> done(Call* of);
    template <class Operation>
    rota::task<result_of<Operation>> perform(Operation what);
    void put_back(unreturned::leases what, time_ms now) noexcept;
    void disown(const std::string& queue, const std::vector<std::vector<taken_job>>& given,
                time_ms now) noexcept;

    store_health health_;
    unreturned unreturned_;
    std::mutex listener_lock_; // guards what follows; held while it is told
    store_listener* listener_ = nullptr;
};

} // namespace jobs
