#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rota/awaitable.hpp>
#include <rota/blocked_tasks.hpp>
#include <rota/routine.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>

namespace rota {

class blocking_pool;

struct spawn_options {
    /// For logs and listings, where control characters in it are `\xNN`; need not be unique.
    std::string name{};
    worker* on = nullptr; ///< null: the least loaded worker
    bool report_errors =
        true; ///< pass an exception that ends the routine to the executor's error handler
};

/// A place on a worker for one routine: while it is held the worker does not go away. Move-only.
/// Must not outlive the executor.
class assignment {
public:
    /// Throws std::logic_error if `w` has ended: it was drained, or the runtime stopped.
    explicit assignment(worker& w);
    assignment(assignment&& other) noexcept : worker_(std::exchange(other.worker_, nullptr)) {}
    assignment& operator=(assignment&&) = delete;
    ~assignment() {
        if (worker_ != nullptr)
            worker_->remove_place();
    }
    [[nodiscard]] worker& get() const noexcept { return *worker_; }

private:
    friend class executor;
    worker* worker_;
};

/// Every routine of an executor that has not stopped, for listing, counting and stopping them. Any
/// thread.
class routine_registry {
public:
    routine_registry();
    ~routine_registry();
    routine_registry(const routine_registry&) = delete;
    routine_registry& operator=(const routine_registry&) = delete;

    [[nodiscard]] std::uint64_t next_id() noexcept {
        return ids_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    void add(routine& r);
    /// Removes `r`; wakes wait_empty() if it was the last.
    void remove(routine& r) noexcept;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::vector<blocked_routine> blocked() const;
    [[nodiscard]] std::size_t blocked_count() const;
    /// Returns the routine at `step`, blocked or not, with its last wait, `what` empty if it has
    /// had none; with id 0 if no routine is there. `step` is only compared, and need not exist.
    [[nodiscard]] blocked_routine describe(const runnable* step) const;
    /// Asks all routines to stop, and each that is added later.
    void request_stop_all();
    /// Blocks the calling thread until no routine is left.
    void wait_empty();
    /// Does what wait_empty() does, for at most `limit`: returns false if that passed first.
    bool wait_empty_for(std::chrono::nanoseconds limit);

private:
    mutable std::mutex lock_;
    std::condition_variable emptied_;
    routine* first_ = nullptr;
    std::size_t size_ = 0;
    bool stopping_ = false;
    std::atomic<std::uint64_t> ids_{0};

    // -- the lock of first_registry
    routine_registry* next_registry_ = nullptr;
};

namespace detail {

/// All registries, linked, for a debugger that has nothing else to start from (tools/gdb/rota.py).
/// The program itself does not use this.
extern routine_registry* first_registry;

} // namespace detail

/// What runs routines: the runtime with its worker threads, or the single-threaded
/// inline_scheduler.
class executor {
public:
    /// Called with each exception that ends a routine spawned with report_errors;
    /// operation_cancelled is not an error. Called, too, with those that every() goes on after:
    /// routine::error() is null then. Runs on the routine's worker; must not throw.
    using error_handler = std::function<void(const routine&, std::exception_ptr)>;

    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;

    /// Starts a routine with `body`: a task, another wait, or a function (see task_body). A
    /// function is kept until the routine has ended, so a lambda may capture; what it refers to has
    /// to live as long. The body's result is dropped. The routine is ready at once, and runs when
    /// its worker gets to it. Throws std::invalid_argument for a task that is empty or was awaited,
    /// std::logic_error where a stopping runtime takes no more routines (see runtime::stop()). Any
    /// thread.
    template <task_body A>
    routine_ptr spawn(A&& body, spawn_options options = {}) {
        return spawn_task(detail::as_void_task(std::forward<A>(body)), std::move(options));
    }
    /// Does what spawn() does, in a place that assign() gave.
    template <task_body A>
    routine_ptr spawn(A&& body, assignment place, spawn_options options = {}) {
        return spawn_task(detail::as_void_task(std::forward<A>(body)), std::move(place),
                          std::move(options));
    }
    /// Does what spawn() does for a routine of another kind, made for the worker of `place`.
    routine_ptr start(routine_ptr r, assignment place);

    /// Returns every blocked routine: what it waits for, where, since when. Any thread.
    [[nodiscard]] std::vector<blocked_routine> blocked() const { return registry_.blocked(); }
    /// Returns how many routines are blocked. Any thread.
    [[nodiscard]] std::size_t blocked_count() const { return registry_.blocked_count(); }
    /// Returns how many routines have not stopped. Any thread.
    [[nodiscard]] std::size_t routine_count() const { return registry_.size(); }
    /// Returns the map of blocked routines by what they wait for, through which a routine waits for
    /// a blocker. Any thread.
    [[nodiscard]] blocked_tasks& blocked_map() noexcept { return blocked_tasks_; }
    /// Tells the executor that `b` is probably not blocked any more: its waiters look again. Any
    /// thread.
    void unblocked(blocker& b) noexcept { blocked_tasks_.unblocked(b); }

    /// Returns a place on the worker that the least-loaded scheduler picks now. Any thread.
    [[nodiscard]] virtual assignment assign() = 0;
    /// Returns the threads of blocking(), or null if it runs on the calling thread. Any thread.
    [[nodiscard]] virtual blocking_pool* blocking_threads() noexcept { return nullptr; }

    [[nodiscard]] routine_registry& registry() noexcept { return registry_; }
    void report(const routine& r, std::exception_ptr error) const noexcept;

protected:
    explicit executor(error_handler on_error);
    virtual ~executor() = default;

    /// Throws std::logic_error if no new routine is taken from the calling thread.
    virtual void check_open() const {}

    routine_registry registry_;

private:
    routine_ptr spawn_task(task<void> body, spawn_options options);
    routine_ptr spawn_task(task<void> body, assignment place, spawn_options options);

    blocked_tasks blocked_tasks_{registry_};
    error_handler on_error_;
};

namespace detail {

/// How a task ended.
template <class T>
struct outcome {
    std::optional<T> value;
    std::exception_ptr error;
};
template <>
struct outcome<void> {
    std::exception_ptr error;
};

/// Runs `body` and stores its outcome in `*out`, a pointer of some kind to an outcome<T>.
template <class T, class Out>
task<void> capture(task<T> body, Out out) {
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(body);
        } else {
            out->value.emplace(co_await std::move(body));
        }
    } catch (...) {
        out->error = std::current_exception();
    }
}

} // namespace detail

} // namespace rota
