#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <rota/detail/blocking_pool.hpp>
#include <rota/detail/quiet_thread.hpp>
#include <rota/executor.hpp>
#include <rota/least_loaded_scheduler.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>
#include <rota/worker_scaler.hpp>

namespace rota {

class stall_watch;
struct stall_report; // <rota/stall_watch.hpp>

struct runtime_options {
    std::size_t workers = 0; ///< 0: one for each core this process may run on
    /// If above `workers`: grows to this many under load, and back to `workers` when it is over.
    /// Running routines stay where they are; only new ones use the new workers. 0: never grows.
    std::size_t workers_max = 0;
    std::size_t batch_size = 8; ///< of the least-loaded scheduler
    /// The most threads blocking() may use; they are started as they are needed. 0: four for each
    /// worker, at least 16.
    std::size_t blocking_threads = 0;
    /// How much lower their priority is than the workers', so that small work goes first where
    /// cores are short (man 7 sched: nice). 0: not at all.
    int blocking_nice = 10;
    /// Called with exceptions that end routines; by default they are written to stderr.
    executor::error_handler on_error{};
    /// A routine that holds its worker for longer is reported, once then and once at its end. 0:
    /// none is reported. (New routines go to other workers after 100 ms, in any case.)
    std::chrono::milliseconds stall_limit{1000};
    /// Called with that report, on a thread of its own; by default it is written to stderr.
    std::function<void(const stall_report&)> on_stall{};
    /// Called on the same thread every 20 ms while a worker is awake; for what is built on the
    /// runtime and has something of its own to watch.
    std::function<void()> on_tick{};
    /// Makes what the thread of worker `index` sleeps on; by default a futex (parker).
    std::function<std::unique_ptr<parking>(std::size_t index)> make_parking{};
};

/// How a worker is doing, for listings.
struct worker_status {
    std::size_t index = 0;
    baton state = baton::parked;
    bool draining = false; ///< takes no new routines and ends with its last one
    std::size_t routines = 0;
    std::size_t connections = 0;
    std::size_t runnable = 0;
};

/// The executor with worker threads (the references' Runtime): start, spawn, join, stop.
///
/// Routines may be spawned before start(); they wait for it. The destructor stops and joins.
/// Destroying it on one of its own threads ends the program with a message. All members are for any
/// thread that is not one of its own workers, unless they say otherwise.
class runtime final : public executor {
public:
    static constexpr std::size_t max_workers = 256;

    /// Throws std::invalid_argument for more than max_workers workers, for a workers_max below
    /// `workers`, for a negative stall_limit, and for a make_parking that returns nothing.
    explicit runtime(runtime_options options = {});
    ~runtime() override;

    /// Starts the worker threads, if they are not running. Throws std::system_error if not all of
    /// them can be created: none runs then, nothing has changed, and it can be tried again;
    /// std::logic_error after stop().
    void start();
    /// Waits until no routine is left. New ones may be spawned meanwhile, and are waited for too.
    /// Throws std::logic_error where stop() does.
    void join();
    /// Asks every routine to stop, waits for all of them, ends the threads and joins them. Routines
    /// for which no thread can be created run on the calling thread, so that they can finish. What
    /// its own threads spawn meanwhile is asked to stop at once, and waited for; on other threads
    /// spawn() throws std::logic_error then. Idempotent. Throws std::logic_error on a thread of its
    /// own: in a routine or anything else that a worker runs, in work for blocking(), in on_stall
    /// and on_tick.
    void stop();

    /// Runs `body`, a task, another wait, or a function (see task_body), as a routine, waits for
    /// its end, and returns its value or rethrows its exception. Starts the runtime if need be.
    /// Throws std::logic_error in one of its routines: co_await there; std::invalid_argument for a
    /// task that is empty or was awaited.
    template <task_body A>
    body_result_t<A> block_on(A&& body) {
        return block_on_task(as_task(std::forward<A>(body)));
    }

    /// Grows or shrinks to `count` workers (at least one) while running. A worker that has to go
    /// takes no new routines and ends when its last routine has stopped; growing takes draining
    /// workers back first. Throws std::system_error if not all threads can be created, and what the
    /// observer of on_worker_added() throws: as many workers as before are left then, each with its
    /// thread, and it can be tried again; std::logic_error after stop(); std::invalid_argument for
    /// 0 or more than max_workers. Any thread, workers too.
    void set_workers(std::size_t count);
    /// Returns how many workers take new routines. Any thread.
    [[nodiscard]] std::size_t worker_count() const;
    /// Returns every worker that has a thread, the draining ones too. Any thread.
    [[nodiscard]] std::vector<worker_status> workers() const;
    /// Returns worker `index` (< max_workers), or null if there has never been one. Workers live as
    /// long as the runtime. Any thread.
    [[nodiscard]] worker* worker_at(std::size_t index) const;
    /// Throws std::logic_error on a thread that runs a worker of this runtime, for which `what`
    /// would wait for ever. Any thread.
    void refuse_own_thread(const char* what) const;
    /// Does the same on every thread of its own, for what would wait for all of them. Any thread.
    void refuse_any_own_thread(const char* what) const;
    /// Ends the program with a message, for a destructor that is refused so.
    [[noreturn]] static void end_program(const std::exception& why) noexcept;

    [[nodiscard]] assignment assign() override;
    [[nodiscard]] blocking_pool* blocking_threads() noexcept override { return &blocking_; }

    /// Has `observer` called for each worker before its thread starts, and now for those that are
    /// there already; the reactor attaches itself here. Before start(). The observer is called
    /// under the runtime's lock, as runtime_options::make_parking is: calling the runtime from it
    /// would wait for ever.
    void on_worker_added(std::function<void(worker&)> observer);

private:
    struct slot {
        std::unique_ptr<worker> shard;
        quiet_thread thread;
        bool active = false;
    };

    template <class T>
    T block_on_task(task<T> body);

    void check_open() const override;
    [[nodiscard]] bool is_own_worker() const;
    [[nodiscard]] bool is_helper() const noexcept;
    [[nodiscard]] std::unique_ptr<stall_watch> make_watch();
    [[nodiscard]] bool scale();
    void add_worker();
    void activate(std::size_t index) noexcept;
    void start_unstopped();
    void start_threads(const std::vector<std::size_t>& of);
    void run_down() noexcept;
    void grow(std::size_t count);

    const runtime_options options_;
    std::function<void(worker&)> observer_;

    // -- the watch's thread
    worker_scaler scaler_;
    std::chrono::steady_clock::time_point scaled_at_{};

    blocking_pool blocking_;
    const std::unique_ptr<stall_watch> watch_; // behind the workers: it goes last

    std::mutex stop_lock_; // held throughout stop()

    mutable std::mutex lock_;         // guards everything below
    std::vector<slot> slots_;         // reserved for max_workers: a slot does not move
    std::vector<std::size_t> active_; // sorted
    least_loaded_scheduler scheduler_;
    bool running_ = false;
    std::atomic<bool> stopped_ = false; // read without it, too
};

template <class T>
T runtime::block_on_task(task<T> body) {
    refuse_own_thread("block_on()");
    start();
    detail::outcome<T> out;
    spawn(detail::capture(std::move(body), &out), {.name = "block_on"})->wait_stopped();
    if (out.error)
        std::rethrow_exception(out.error);
    if constexpr (!std::is_void_v<T>)
        return std::move(*out.value);
}

} // namespace rota
