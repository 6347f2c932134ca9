#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <rota/detail/job_store.hpp>
#include <rota/task.hpp>

namespace rota {

/// Jobs that have been taken and are in progress (the references' Scope). Move-only.
///
/// commit() removes them from their queue; put_back(), or the end of the lease without commit(),
/// queues them again, each at its original place. One thread at a time; may outlive the queue.
template <class Store>
class [[nodiscard]] job_lease {
public:
    using job = typename Store::job;

    class iterator {
    public:
        using value_type = job;
        using difference_type = std::ptrdiff_t;
        iterator() noexcept = default;
        explicit iterator(job* at) noexcept : at_(at) {}
        job& operator*() const noexcept { return *at_; }
        job* operator->() const noexcept { return at_; }
        iterator& operator++() noexcept {
            at_ = at_->next_in_lease();
            return *this;
        }
        iterator operator++(int) noexcept {
            return std::exchange(*this, iterator(at_->next_in_lease()));
        }
        bool operator==(const iterator&) const noexcept = default;

    private:
        job* at_ = nullptr;
    };

    job_lease() noexcept = default;
    job_lease(std::shared_ptr<Store> store, typename Store::chain taken) noexcept
        : store_(std::move(store)), taken_(taken) {}
    job_lease(job_lease&& other) noexcept
        : store_(std::move(other.store_)), taken_(std::exchange(other.taken_, {})) {}
    /// Puts back the jobs that this had.
    job_lease& operator=(job_lease&& other) noexcept {
        job_lease taken(std::move(other)); // and goes with what was here
        std::swap(store_, taken.store_);
        std::swap(taken_, taken.taken_);
        return *this;
    }
    ~job_lease() { put_back(); }

    [[nodiscard]] std::size_t size() const noexcept { return taken_.count; }
    [[nodiscard]] bool empty() const noexcept { return taken_.count == 0; }
    /// Returns the oldest job. The lease must not be empty.
    [[nodiscard]] job& front() const noexcept { return *taken_.first; }
    [[nodiscard]] iterator begin() const noexcept { return iterator(taken_.first); }
    [[nodiscard]] iterator end() const noexcept { return iterator(); }

    /// Removes the jobs from the queue as done, and leaves the lease empty.
    void commit() noexcept {
        if (!empty()) {
            store_->commit(std::exchange(taken_, {}));
        }
    }
    /// Queues the jobs again, each at its place, and leaves the lease empty.
    void put_back() noexcept {
        if (!empty()) {
            store_->put_back(std::exchange(taken_, {}));
        }
    }
    /// Moves the oldest job into a lease of its own and returns that. The lease must not be empty.
    job_lease split_front() noexcept {
        typename Store::chain one{.first = taken_.first, .count = 1};
        taken_.first = Store::unlink(*one.first);
        --taken_.count;
        return job_lease(store_, one);
    }

private:
    std::shared_ptr<Store> store_;
    typename Store::chain taken_;
};

/// A queue that holds each key at most once, from when it is added until its work is done (the
/// references' DistinctZioJobQueue).
///
/// Adding a key that is queued or in progress is refused; the first stays where it is. Consumers
/// take leases of several jobs, and are served in the order in which they came. A job whose work
/// fails is queued again at its original place, before whatever was added later.
///
/// Every operation is O(1) for each job, however many are queued or in progress; only taking a job
/// that was put back is O(log p), amortised, when p such jobs wait. The listings are O(what they
/// look at). Thread-safety: any thread. Keys are hashed and compared under a lock.
template <class Key, class Payload = std::monostate, class Hash = std::hash<Key>,
          class Equal = std::equal_to<Key>>
class distinct_job_queue {
    using store = detail::job_store<Key, Payload, Hash, Equal>;

public:
    using job = queued_job<Key, Payload>;
    using lease = job_lease<store>;
    using add_result = typename store::add_result;

    class [[nodiscard]] take_awaiter final : public store::consumer {
    public:
        take_awaiter(std::shared_ptr<store> s, std::size_t max, std::source_location where) noexcept
            : store::consumer(*s, max, where), store_(std::move(s)) {}
        lease await_resume() { return lease(store_, this->take_up()); }

    private:
        std::shared_ptr<store> store_;
    };

    explicit distinct_job_queue(const job_queue_options& options = {})
        : store_(std::make_shared<store>(options)) {}
    distinct_job_queue(const distinct_job_queue&) = delete;
    distinct_job_queue& operator=(const distinct_job_queue&) = delete;
    /// Closes the queue.
    ~distinct_job_queue() { close(); }

    /// Adds a job at the end. Returns true, or false if it is refused (see add_outcome).
    bool add(Key key, Payload payload = {}) {
        return insert(std::move(key), std::move(payload)).outcome == add_outcome::added;
    }
    /// Does what add() does, but returns the outcome, and the status of the new job or, for a
    /// duplicate, of the one that is there.
    add_result insert(Key key, Payload payload = {}) {
        std::vector<std::unique_ptr<job>> incoming;
        incoming.push_back(std::make_unique<job>(std::move(key), std::move(payload)));
        add_result result;
        store_->add(incoming, [&](const add_result& told) { result = told; });
        return result;
    }
    /// Adds many at once; returns those that were refused, in the order given. Waiting consumers
    /// are served once all have been added.
    std::vector<Key> add_all(std::vector<Key> keys) requires std::default_initializable<Payload> {
        std::vector<std::unique_ptr<job>> incoming;
        incoming.reserve(keys.size());
        for (Key& key : keys) {
            incoming.push_back(std::make_unique<job>(std::move(key), Payload()));
        }
        store_->add(incoming, [](const add_result&) {});
        std::vector<Key> rejected;
        for (std::unique_ptr<job>& j : incoming) {
            if (j) {
                rejected.push_back(std::move(*j).take_key());
            }
        }
        return rejected;
    }

    /// `auto jobs = co_await queue.take_up_to(n);` takes up to `max` (at least 1) of the queued
    /// jobs; waits until there is at least one, never for more. The lease is empty only if the
    /// queue is closed and nothing is queued. Throws operation_cancelled, having taken none.
    take_awaiter take_up_to(std::size_t max,
                            std::source_location where = std::source_location::current()) {
        if (max == 0) {
            throw std::invalid_argument("distinct_job_queue: take at least one");
        }
        return take_awaiter(store_, max, where);
    }
    /// Does what take_up_to() does without waiting: returns an empty lease if nothing is queued.
    lease try_take_up_to(std::size_t max) { return lease(store_, store_->try_take(max)); }

    /// Takes up to `max` jobs and runs `work(lease&)`, a coroutine, with them. They are removed if
    /// it succeeds, and put back if it fails: by an exception, which is rethrown, by cancellation,
    /// or by the result `false` or a std::expected without a value. Jobs that `work` commits or
    /// puts back itself stay so. Returns the result (std::monostate for void); nothing if the queue
    /// is closed and empty.
    template <class Work>
    auto with_taken(std::size_t max, Work work,
                    std::source_location where = std::source_location::current())
        -> task<std::optional<
            detail::value_of<typename std::invoke_result_t<Work&, lease&>::value_type>>> {
        using result = typename std::invoke_result_t<Work&, lease&>::value_type;
        lease jobs = co_await take_up_to(max, where);
        if (jobs.empty()) {
            co_return std::nullopt;
        }
        if constexpr (std::is_void_v<result>) {
            co_await detail::returned(std::invoke(work, jobs));
            jobs.commit();
            co_return std::monostate();
        } else {
            result outcome = co_await detail::returned(std::invoke(work, jobs));
            if (succeeded(outcome)) {
                jobs.commit();
            } else {
                jobs.put_back();
            }
            co_return std::move(outcome);
        }
    }

    /// Refuses new jobs; consumers take what is left and then get nothing. Idempotent.
    void close() noexcept { store_->close(); }

    /// Returns the keys that are queued, at most `limit`, in the order in which they will be taken.
    [[nodiscard]] std::vector<Key>
    queued(std::size_t limit = std::numeric_limits<std::size_t>::max()) const {
        return keys(false, limit);
    }
    /// Returns the keys that are in progress, at most `limit`, in the order of adding.
    [[nodiscard]] std::vector<Key>
    in_progress(std::size_t limit = std::numeric_limits<std::size_t>::max()) const {
        return keys(true, limit);
    }
    /// Calls `visit(const job&, const job_status&)` in the order of adding until it returns false.
    /// Runs under the lock, so `visit` must be quick and must not call the queue, nor read a job's
    /// payload, which may belong to a lease.
    template <class Visit>
    void visit(Visit&& visit) const {
        store_->visit(store::part::all, std::forward<Visit>(visit));
    }
    [[nodiscard]] std::optional<job_status> status(const Key& key) const {
        return store_->status(key);
    }
    [[nodiscard]] job_counts counts() const { return store_->counts(); }

private:
    [[nodiscard]] std::vector<Key> keys(bool in_progress, std::size_t limit) const {
        std::vector<Key> result;
        const auto part = in_progress ? store::part::once_taken : store::part::from_queued;
        store_->visit(part, [&](const job& j, const job_status& s) {
            if (result.size() < limit && s.in_progress == in_progress) {
                result.push_back(j.key());
            }
            return result.size() < limit;
        });
        return result;
    }

    template <class Result>
    static bool succeeded(const Result& result) {
        if constexpr (std::is_same_v<Result, bool>) {
            return result;
        } else if constexpr (requires { typename Result::unexpected_type; }) {
            return result.has_value();
        } else {
            return true;
        }
    }

    const std::shared_ptr<store> store_;
};

} // namespace rota
