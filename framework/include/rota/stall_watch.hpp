#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include <rota/detail/parker.hpp>
#include <rota/detail/quiet_thread.hpp>
#include <rota/routine.hpp>

namespace rota {

class routine_registry;
class worker;

/// A routine that holds its worker, or has held it, without reaching an await that suspends.
struct stall_report {
    bool ended = false;        ///< false: it goes on; true: it has ended, after `length`
    blocked_routine routine{}; ///< with its last wait, `what` empty if none; id 0: it is no
                               ///< routine, but something posted
    std::size_t worker = 0;    ///< the worker that it holds up
    int thread = 0;            ///< which thread it is on (man 2 gettid)
    std::chrono::milliseconds length{}; ///< so far, or in all; to a tick of the watch
    std::vector<std::string> stack{}; ///< innermost first; empty if it could not be read, or ended
};

/// Returns the report in words, without a line feed at the end; the stack has a line for each
/// frame.
[[nodiscard]] std::string to_string(const stall_report& report);

/// A thread that looks at each worker every 20 ms, and reports a step that takes longer than a
/// limit, once when it does and once when it has ended.
///
/// It costs the workers two plain stores a step. A look counts as at most two ticks of time, so a
/// process that was stopped, or got no processor, does not look stalled. When no worker has been
/// awake for a second, the watch sleeps until worker_woke(): it sets a flag that it dozes, then
/// looks at the workers' batons; a worker takes its baton, then checks that flag; all of it
/// sequentially consistent, so one of them sees the other.
class stall_watch {
public:
    static constexpr std::chrono::milliseconds tick{20};
    /// After this time new routines go to other workers (worker::held_up), report or not.
    static constexpr std::chrono::milliseconds held_up_after{100};

    struct options {
        std::chrono::milliseconds limit{0};                  ///< 0: nothing is reported
        std::function<void(const stall_report&)> on_stall{}; ///< on the watch's thread
        /// Called on the same thread every tick; returns true to be called again though no worker
        /// is awake.
        std::function<bool()> on_tick{};
    };
    /// `routines` outlives it.
    stall_watch(options how, const routine_registry& routines);
    ~stall_watch();
    stall_watch(const stall_watch&) = delete;
    stall_watch& operator=(const stall_watch&) = delete;

    /// A place for a worker, to be add()ed. In two steps, so that whatever else may fail in making
    /// a worker can be done between them.
    class place;
    [[nodiscard]] static place make_place(worker& w);
    /// Watches the worker of `p` too, which outlives the watch. Any thread.
    void add(place p) noexcept;
    /// Does what add(make_place(w)) does.
    void add(worker& w);
    /// Starts the thread, if it is not running. Not on two threads at once.
    void start();
    /// Ends the thread. Idempotent.
    void stop() noexcept;
    /// Returns whether the calling thread is that of the watch. Any thread.
    [[nodiscard]] bool is_own_thread() const noexcept { return quiet_thread::purpose() == this; }

    /// Tells the watch that a worker has taken its baton. Any thread; cheap.
    void worker_woke() noexcept {
        if (dozes_.load(std::memory_order_seq_cst))
            wake();
    }

private:
    /// One worker, and the step that it is at.
    struct watched {
        explicit watched(worker& w) noexcept : who(&w) {}
        worker* who;
        std::uint64_t steps = 0;
        std::chrono::milliseconds length{};
        stall_report reported{}; // if it has been: worker and routine
        bool is_reported = false;
    };

    void run();
    /// Returns whether some worker is awake.
    bool look(std::chrono::milliseconds passed);
    [[nodiscard]] bool tick_does_something();
    void look_at(watched& w, std::chrono::milliseconds passed);
    void report(watched& w);
    void report_end(watched& w);
    void doze();
    void wake() noexcept;

    const options options_;
    const routine_registry& routines_;
    parker parker_;
    std::atomic<bool> dozes_{false};
    std::atomic<bool> stopping_{false};

    std::mutex lock_;
    std::list<watched> added_; // since the last look; guarded by it

    std::list<watched> watched_; // the thread's own
    quiet_thread thread_;
};

class stall_watch::place {
    friend class stall_watch;
    std::list<watched> one_;
};

} // namespace rota
