#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <rota/io/options.hpp>
#include <rota/runtime.hpp>
#include <rota/task.hpp>

namespace rota::io {

struct backend_source;
class worker_io;

struct context_options {
    std::size_t workers = 0;          ///< 0: one for each core this process may run on
    std::size_t workers_max = 0;      ///< more: as many under load (runtime_options::workers_max)
    std::size_t batch_size = 8;       ///< of the least-loaded scheduler
    std::size_t blocking_threads = 0; ///< of blocking(): see runtime_options
    int blocking_nice = 10;           ///< the same
    std::chrono::milliseconds stall_limit{1000}; ///< the same
    reactor_options reactor{};
    executor::error_handler on_error{};                  ///< default: to the log
    std::function<void(const stall_report&)> on_stall{}; ///< default: to the log
};

/// Everything that a program with sockets needs, wired together: a runtime and the reactor that
/// feeds it. One object, made in main(), passed to what opens sockets; there is no global one.
///
/// Threads: the workers; in the split topology one more that receives and one that sends; those of
/// blocking(), once it is used. None of them takes signals. A thread that has made and destroyed a
/// context on io_uring may get EINTR from its next blocking call, without a signal: the kernel
/// wakes it to end the rings.
///
/// The destructor stops. On a thread of the context's own, as when a handler calls exit() and the
/// context is static, it ends the program with a message: end such a program by server::drain(), or
/// by std::quick_exit(). Thread-safety: as the runtime's.
class context {
public:
    /// Probes the kernel, sets up rings and threads. Logs in one line what was chosen, and in one
    /// before it why that is not io_uring if it was unavailable. Throws std::runtime_error that
    /// says why when a backend that was asked for by name is unavailable, std::system_error when
    /// threads or rings cannot be made, std::invalid_argument for impossible options.
    explicit context(const context_options& options = {});
    /// Does the same with backends that do not come from the kernel, or not directly: a simulation,
    /// or one that fails on purpose (backend.hpp in io/src).
    context(const context_options& options, backend_source backends);
    ~context();
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    /// Runs `body`, a task or a function (see task_body), as a routine, waits for its end, and
    /// returns its value or rethrows its exception.
    template <task_body A>
    body_result_t<A> block_on(A&& body) {
        return workers().block_on(std::forward<A>(body));
    }
    /// Returns the runtime, to spawn on.
    [[nodiscard]] runtime& workers() noexcept;

    /// Cancels every routine, aborts every connection, waits for all of them, ends the threads.
    /// Connections and listeners that the program still holds are closed, too, with a line in the
    /// log that says how many and whose; their handles are dead from then on. Idempotent. Throws
    /// std::logic_error on a thread of its own, as runtime::stop() does.
    void stop();

    /// Gives free memory back to the system (man 3 malloc_trim), beside the work that goes on. A
    /// server does it when a crowd of clients has gone. Any thread.
    void return_memory() noexcept;

    /// Returns what was chosen.
    [[nodiscard]] backend_kind backend() const noexcept;
    [[nodiscard]] const reactor_options& options() const noexcept;

private:
    friend struct context_access;
    struct parts;
    void run();

    std::unique_ptr<parts> parts_;
};

/// Starts a routine with `body`: a task, or a function, which is kept until the routine has ended,
/// so a lambda may capture. See executor::spawn(). Any thread.
template <task_body A>
routine_ptr spawn(context& ctx, A&& body, spawn_options options = {}) {
    return ctx.workers().spawn(std::forward<A>(body), std::move(options));
}

} // namespace rota::io
