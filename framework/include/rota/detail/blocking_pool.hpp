#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include <rota/detail/quiet_thread.hpp>

namespace rota {

/// Threads for work that would hold a worker up: calls that block, long computations. Their number
/// is bounded; a thread is started when there is work and none is idle, and stays until the end.
/// Jobs wait in line, first come first served, in memory of their own. Any thread, except for the
/// constructor and the destructor.
class blocking_pool {
public:
    /// A piece of work; lives until finished() has been called or withdraw() has returned true.
    class job {
    public:
        job(const job&) = delete;
        job& operator=(const job&) = delete;

    protected:
        job() = default;
        virtual ~job() = default;

    private:
        friend class blocking_pool;
        /// Does the work, on a thread of the pool.
        virtual void run() noexcept = 0;
        /// Ends the job: the last call, on the same thread. The job may be destroyed within it.
        virtual void finished() noexcept = 0;
        job* previous_ = nullptr;
        job* next_ = nullptr;
        bool waits_ = false;
    };

    /// `threads_max` counts as at least one. `nice`: how much lower the priority of its threads is
    /// than that of the thread that makes the pool (man 7 sched); processes and threads that they
    /// start inherit it.
    explicit blocking_pool(std::size_t threads_max, int nice = 0);
    /// Ends the threads. Every job has been finished or withdrawn.
    ~blocking_pool();
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    /// Queues a job. Throws std::system_error if there is no thread and none can be started.
    void submit(job& j);
    /// Takes a job back; returns true if it had not begun: it never will.
    [[nodiscard]] bool withdraw(job& j) noexcept;
    /// Ends the threads, as the destructor does.
    void stop() noexcept;

    /// Returns whether the calling thread is one of these.
    [[nodiscard]] bool is_own_thread() const noexcept { return quiet_thread::purpose() == this; }
    [[nodiscard]] std::size_t threads_max() const noexcept { return threads_max_; }
    /// How many threads there are, how many of them work, how many jobs wait for one.
    struct status {
        std::size_t threads = 0;
        std::size_t working = 0;
        std::size_t waiting = 0;
    };
    [[nodiscard]] status read() const;

private:
    void serve();
    void unlink(job& j) noexcept;

    const std::size_t threads_max_;
    const std::optional<int> nice_; // none: as they are

    mutable std::mutex lock_; // guards everything below
    std::condition_variable work_or_end_;
    std::vector<quiet_thread> threads_;
    job* first_ = nullptr;
    job* last_ = nullptr;
    std::size_t waiting_ = 0;
    std::size_t idle_ = 0;
    std::size_t working_ = 0;
    bool stopping_ = false;
};

} // namespace rota
