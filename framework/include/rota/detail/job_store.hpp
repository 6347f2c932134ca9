#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <unordered_set>
#include <utility>
#include <vector>

#include <rota/detail/job_order.hpp>
#include <rota/list_awaiter.hpp>
#include <rota/wait_list.hpp>
#include <rota/worker.hpp>

namespace rota {

struct job_queue_options {
    /// How many jobs there may be, queued and in progress together; more are refused.
    std::size_t max_jobs = std::numeric_limits<std::size_t>::max();
    /// The source of the times in job_status; outlives the queue and its leases.
    const time_source* time = &time_source::steady();
};

/// What a queue knows of a job.
struct job_status {
    std::uint64_t id = 0;                       ///< in the order of adding; not used again
    bool in_progress = false;                   ///< else queued
    std::uint32_t attempts = 0;                 ///< how often it has been taken
    std::uint32_t failures = 0;                 ///< how often it has been put back
    std::uint32_t collisions = 0;               ///< how often its key was added again and refused
    std::chrono::nanoseconds queued_for{};      ///< in all
    std::chrono::nanoseconds in_progress_for{}; ///< in all
};

/// The state of a queue, and what has happened since it was made.
struct job_counts {
    std::size_t queued = 0;
    std::size_t in_progress = 0;
    std::uint64_t added = 0;
    std::uint64_t completed = 0;
    std::uint64_t failures = 0;
    std::uint64_t collisions = 0;
};

enum class add_outcome : std::uint8_t {
    added,
    duplicate, ///< the key is there, queued or in progress
    full,      ///< there are max_jobs jobs
    closed,
};

namespace detail {

template <class Key, class Payload, class Hash, class Equal>
class job_store;

} // namespace detail

/// A job of a distinct_job_queue. While it is leased it belongs to the lease's owner.
template <class Key, class Payload>
class queued_job : private job_order::node {
public:
    queued_job(Key key, Payload payload) : key_(std::move(key)), payload_(std::move(payload)) {}

    using node::id;
    [[nodiscard]] const Key& key() const noexcept { return key_; }
    [[nodiscard]] Payload& payload() noexcept { return payload_; }
    [[nodiscard]] const Payload& payload() const noexcept { return payload_; }
    /// Returns which attempt this is, from 1.
    [[nodiscard]] std::uint32_t attempt() const noexcept { return attempts_; }
    /// Returns the key, moved out of a job that was refused.
    [[nodiscard]] Key take_key() && noexcept { return std::move(key_); }
    /// Returns the next of the same lease, null at the end.
    [[nodiscard]] queued_job* next_in_lease() const noexcept { return next_in_lease_; }

private:
    template <class, class, class, class>
    friend class detail::job_store;
    static queued_job* of(node* n) noexcept { return static_cast<queued_job*>(n); }

    Key key_;
    Payload payload_;
    std::size_t hash_ = 0;
    queued_job* next_in_lease_ = nullptr;
    std::uint32_t attempts_ = 0;
    std::uint32_t failures_ = 0;
    std::uint32_t collisions_ = 0;
    time_source::time_point since_; // of the present state
    std::chrono::nanoseconds queued_for_{};
    std::chrono::nanoseconds in_progress_for_{};
};

namespace detail {

/// What a distinct_job_queue and its leases share: the jobs, under a lock.
template <class Key, class Payload, class Hash, class Equal>
class job_store {
public:
    using job = queued_job<Key, Payload>;

    /// The jobs of a lease, oldest first, linked by next_in_lease().
    struct chain {
        job* first = nullptr;
        std::size_t count = 0;
    };

    /// A consumer that takes, and waits if nothing is queued: base of the queue's awaiter.
    class consumer : public list_awaiter {
    public:
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> self) {
            return wait_unless(self, [this] {
                taken_ = store_.take(max_);
                return taken_.count != 0 || store_.closed_;
            });
        }

    protected:
        consumer(job_store& s, std::size_t max, std::source_location where) noexcept
            : list_awaiter(s.lock_, s.consumers_, "distinct_job_queue::take", where), store_(s),
              max_(max) {}
        consumer(consumer&& other) noexcept
            : list_awaiter(std::move(other)), store_(other.store_), max_(other.max_),
              taken_(std::exchange(other.taken_, {})) {}
        consumer& operator=(consumer&&) = delete;
        ~consumer() override {
            if (taken_.count != 0) {
                store_.put_back(taken_); // given, but never taken up
            }
        }
        /// Returns what it got: at least one job, unless the queue is closed. Throws
        /// operation_cancelled.
        chain take_up() {
            finish();
            return std::exchange(taken_, {});
        }

    private:
        friend class job_store;
        static consumer& of(waiter& w) noexcept { return static_cast<consumer&>(w); }

        job_store& store_;
        const std::size_t max_;
        chain taken_;
    };

    struct add_result {
        add_outcome outcome = add_outcome::added;
        job_status status; ///< of the new job, or of the one that is there
    };

    explicit job_store(const job_queue_options& options) : options_(options) {}
    job_store(const job_store&) = delete;
    job_store& operator=(const job_store&) = delete;
    ~job_store() {
        for (job* j : jobs_) {
            delete j;
        }
    }

    /// Adds each of `incoming` that is not refused; takes it over, and leaves the others. `told` is
    /// called with the add_result of each.
    template <class Told>
    void add(std::vector<std::unique_ptr<job>>& incoming, Told&& told) {
        waiter* served = nullptr;
        try {
            const std::lock_guard guard(lock_);
            for (std::unique_ptr<job>& j : incoming) {
                told(insert(j));
            }
            served = serve();
        } catch (...) {
            wake_consumers(); // those that were added are there
            throw;
        }
        wait_list::wake_chain(served);
    }

    /// Takes `first` off the chain that begins with it; returns the rest.
    static job* unlink(job& first) noexcept { return std::exchange(first.next_in_lease_, nullptr); }

    /// Removes jobs as done.
    void commit(chain taken) noexcept {
        {
            const std::lock_guard guard(lock_);
            for (job* j = taken.first; j != nullptr; j = j->next_in_lease_) {
                order_.remove(*j);
                jobs_.erase(j);
                ++counts_.completed;
            }
        }
        while (taken.first != nullptr) {
            delete std::exchange(taken.first, taken.first->next_in_lease_);
        }
    }

    /// Queues jobs again, each at its place.
    void put_back(chain taken) noexcept {
        waiter* served = nullptr;
        {
            const std::lock_guard guard(lock_);
            const time_source::time_point now = options_.time->now();
            while (taken.first != nullptr) {
                job& j = *std::exchange(taken.first, taken.first->next_in_lease_);
                j.in_progress_for_ += now - std::exchange(j.since_, now);
                ++j.failures_;
                ++counts_.failures;
                order_.put_back(j);
            }
            served = serve();
        }
        wait_list::wake_chain(served);
    }

    void close() noexcept {
        waiter* consumers = nullptr;
        {
            const std::lock_guard guard(lock_);
            closed_ = true;
            consumers = consumers_.release();
        }
        wait_list::wake_chain(consumers);
    }

    /// Which part of the list visit() goes through: all jobs, those from the oldest queued one on,
    /// or those that have been taken at least once.
    enum class part : std::uint8_t { all, from_queued, once_taken };

    /// Calls `visit(job, status)` for the jobs in the order of adding, until it returns false.
    template <class Visit>
    void visit(part which, Visit&& visit) const {
        const std::lock_guard guard(lock_);
        const job_order::node* const end =
            which == part::once_taken ? order_.first_fresh() : nullptr;
        job_order::node* n = which == part::from_queued ? order_.first_queued() : order_.first();
        for (; n != end; n = n->next()) {
            const job& j = *job::of(n);
            if (!visit(j, status_of(j))) {
                break;
            }
        }
    }

    [[nodiscard]] std::optional<job_status> status(const Key& key) const {
        const std::size_t hash = Hash()(key);
        const std::lock_guard guard(lock_);
        const auto found = jobs_.find(lookup{key, hash});
        return found == jobs_.end() ? std::nullopt : std::optional(status_of(**found));
    }

    [[nodiscard]] job_counts counts() const {
        const std::lock_guard guard(lock_);
        job_counts result = counts_;
        result.queued = order_.queued();
        result.in_progress = order_.in_progress();
        return result;
    }

    /// Takes like a consumer that does not wait.
    [[nodiscard]] chain try_take(std::size_t max) noexcept {
        const std::lock_guard guard(lock_);
        return take(max);
    }

private:
    struct lookup {
        const Key& key;
        std::size_t hash;
    };
    struct hasher {
        using is_transparent = void;
        std::size_t operator()(const job* j) const noexcept { return j->hash_; }
        std::size_t operator()(const lookup& l) const noexcept { return l.hash; }
    };
    struct equality {
        using is_transparent = void;
        bool operator()(const job* a, const job* b) const { return Equal()(a->key_, b->key_); }
        bool operator()(const lookup& a, const job* b) const { return Equal()(a.key, b->key_); }
        bool operator()(const job* a, const lookup& b) const { return Equal()(a->key_, b.key); }
    };

    add_result insert(std::unique_ptr<job>& j) {
        if (closed_) {
            return {add_outcome::closed, {}};
        }
        j->hash_ = Hash()(j->key_);
        if (const auto found = jobs_.find(lookup{j->key_, j->hash_}); found != jobs_.end()) {
            ++(*found)->collisions_;
            ++counts_.collisions;
            return {add_outcome::duplicate, status_of(**found)};
        }
        if (jobs_.size() >= options_.max_jobs) {
            return {add_outcome::full, {}};
        }
        jobs_.insert(j.get());
        job& added = *j.release();
        added.since_ = options_.time->now();
        order_.add(added);
        ++counts_.added;
        return {add_outcome::added, status_of(added)};
    }

    /// Takes at most `max` jobs, which are now in progress.
    chain take(std::size_t max) noexcept {
        chain taken;
        if (order_.queued() == 0) {
            return taken;
        }
        const time_source::time_point now = options_.time->now();
        for (job** end = &taken.first; taken.count < max && order_.queued() != 0; ++taken.count) {
            job& j = *job::of(order_.take());
            j.queued_for_ += now - std::exchange(j.since_, now);
            ++j.attempts_;
            j.next_in_lease_ = nullptr;
            *end = &j;
            end = &j.next_in_lease_;
        }
        return taken;
    }

    /// Gives what is queued to those that wait, first come first served; returns them, to be woken.
    waiter* serve() noexcept {
        wait_list served;
        while (order_.queued() != 0) {
            waiter* const first = consumers_.pop_front();
            if (first == nullptr) {
                break;
            }
            consumer& next = consumer::of(*first);
            next.taken_ = take(next.max_);
            served.push_back(*first);
        }
        return served.release();
    }

    void wake_consumers() noexcept {
        waiter* served = nullptr;
        {
            const std::lock_guard guard(lock_);
            served = serve();
        }
        wait_list::wake_chain(served);
    }

    [[nodiscard]] job_status status_of(const job& j) const noexcept {
        const bool running = j.state() == job_order::state::in_progress;
        const auto present = options_.time->now() - j.since_;
        const std::chrono::nanoseconds none{};
        return {.id = j.id(),
                .in_progress = running,
                .attempts = j.attempts_,
                .failures = j.failures_,
                .collisions = j.collisions_,
                .queued_for = j.queued_for_ + (running ? none : present),
                .in_progress_for = j.in_progress_for_ + (running ? present : none)};
    }

    const job_queue_options options_;
    mutable std::mutex lock_;                         // guards what follows
    std::unordered_set<job*, hasher, equality> jobs_; // owned
    job_order order_;
    wait_list consumers_; // empty while jobs are queued
    job_counts counts_;
    bool closed_ = false;
};

} // namespace detail
} // namespace rota
