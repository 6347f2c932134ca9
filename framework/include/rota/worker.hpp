#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <rota/check.hpp>
#include <rota/detail/budget.hpp>
#include <rota/detail/completion_queue.hpp>
#include <rota/detail/inbox.hpp>
#include <rota/detail/parker.hpp>
#include <rota/detail/runnable.hpp>
#include <rota/detail/timer_wheel.hpp>
#include <rota/detail/worker_load.hpp>

namespace rota {

class stall_watch;

/// Where a worker reads the time: the machine's steady clock, or a virtual one in tests.
class time_source {
public:
    using time_point = std::chrono::steady_clock::time_point;
    virtual ~time_source() = default;
    [[nodiscard]] virtual time_point now() const noexcept = 0;
    /// Returns the machine's steady clock; lives for ever.
    static const time_source& steady() noexcept;
};

/// Called by the baton holder after each turn, before the baton is given back: io publishes
/// returned buffers and sends what has been written.
class turn_hook {
public:
    /// `lent`: the read side holds the baton, and will itself flush what it has gathered from
    /// several workers.
    virtual void after_turn(bool lent) noexcept = 0;

protected:
    ~turn_hook() = default;
};

/// An object that a worker keeps: what worker_local is made of. It is in one worker's list.
class kept_object {
public:
    explicit kept_object(const void* key) noexcept : key_(key) {}
    kept_object(const kept_object&) = delete;
    kept_object& operator=(const kept_object&) = delete;
    virtual ~kept_object() = default;

    /// Destroys the object, which is in no list any more. The baton holder.
    virtual void end() noexcept = 0;

private:
    friend class worker;
    const void* const key_;
    kept_object* next_ = nullptr;
};

/// What may run a worker's routines: nothing now, its own thread, or the reactor's read side on its
/// behalf.
enum class baton : std::uint32_t { parked, running, lent };

[[nodiscard]] std::string_view to_string(baton state) noexcept;

/// A logical shard: a run queue, an inbox, a completion queue, a timer wheel, a load figure, and
/// one state word, the baton. It need not have a thread of its own: inline_scheduler and tests
/// drive it from theirs.
///
/// The wake-up protocol. A producer adds to the inbox or to the completion queue, then reads the
/// word; if it says `parked` it exchanges it for `running`, and only the producer whose exchange
/// succeeds sends the wake-up. The thread that goes to sleep stores `parked`, then looks at the
/// queues and for the end again; if something is there it exchanges back, and if that fails another
/// thread has the baton: with `running` a permit is on its way and is consumed by the wait, with
/// `lent` the holder looks again in its turn when it gives back. All of these are sequentially
/// consistent, so of a producer and a sleeper at least one sees the other: no wake-up is lost, and
/// none is sent to a worker that is awake.
///
/// The load that the scheduler reads is kept here by plain stores and added up on reading.
class worker {
public:
    using time_point = time_source::time_point;

    worker(std::size_t index, const time_source& time, std::unique_ptr<parking> sleeper);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker();

    // -- any thread

    [[nodiscard]] std::size_t index() const noexcept { return index_; }
    /// Makes `r` runnable here. Local and free of atomics if the caller holds the baton. `r` may
    /// run, and be the last reference to the worker, before this returns: the worker goes only when
    /// no post() is under way.
    void post(runnable& r) noexcept;
    /// Adds a batch of completions without a wake-up: follow it by notify() or by a lent run.
    void deliver(const completion* batch, std::size_t count) { completions_.push(batch, count); }
    /// Wakes the worker's thread if no thread holds the baton.
    void notify() noexcept;

    /// While one lives, a post() of this thread to a parked worker wakes no thread: the worker is
    /// noted in `posted`, each once, for the caller to lend or to notify. There is one at a time.
    class put_off_wakes {
    public:
        explicit put_off_wakes(std::vector<worker*>& posted) noexcept;
        ~put_off_wakes();
        put_off_wakes(const put_off_wakes&) = delete;
        put_off_wakes& operator=(const put_off_wakes&) = delete;
    };
    /// Returns true if the calling thread holds the baton.
    [[nodiscard]] bool is_current() const noexcept { return current() == this; }
    /// Returns true if the calling thread holds the baton, or if there is no thread to hold it but
    /// the driver (inline_scheduler). For checks.
    [[nodiscard]] bool is_held() const noexcept { return is_current() || parking_ == nullptr; }
    /// Returns the worker whose baton the calling thread holds, or null.
    [[nodiscard]] static worker* current() noexcept;
    [[nodiscard]] baton state() const noexcept { return baton_.load(std::memory_order_relaxed); }
    [[nodiscard]] worker_load load() const noexcept;
    void add_connection() noexcept { connections_.fetch_add(1, std::memory_order_relaxed); }
    void remove_connection() noexcept {
        const std::int64_t before = connections_.fetch_sub(1, std::memory_order_relaxed);
        ROTA_CHECK(before > 0, "connections are removed once");
        static_cast<void>(before);
    }
    [[nodiscard]] std::size_t connections() const noexcept {
        return static_cast<std::size_t>(connections_.load(std::memory_order_relaxed));
    }
    /// Takes a place for a routine, or for what a routine may outlive (a connection, a listener).
    /// Returns false if the worker has ended, and would never run it.
    [[nodiscard]] bool add_place() noexcept;
    /// Gives the place back.
    void remove_place() noexcept;
    [[nodiscard]] std::size_t places() const noexcept {
        return static_cast<std::size_t>(population_.load(std::memory_order_acquire) & count_mask);
    }
    void count_routines(std::int64_t change) noexcept {
        routines_.fetch_add(change, std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t routines() const noexcept {
        return static_cast<std::size_t>(routines_.load(std::memory_order_relaxed));
    }
    /// Returns what one completion and the routines that it made ready have cost lately (EWMA,
    /// alpha 0.05).
    [[nodiscard]] std::chrono::nanoseconds cost_per_event() const noexcept {
        return std::chrono::nanoseconds(cost_ns_.load(std::memory_order_relaxed));
    }
    [[nodiscard]] std::uint32_t pending_completions() const noexcept { return completions_.size(); }
    /// What the worker is doing, for the watch. `step` is what was begun last and has not returned,
    /// or null; `steps` counts them; `thread` (man 2 gettid) holds the baton, or held it last.
    struct pulse {
        const runnable* step = nullptr;
        std::uint64_t steps = 0;
        int thread = 0;
    };
    [[nodiscard]] pulse read_pulse() const noexcept;
    /// Returns true if a thread holds the baton. Sequentially consistent: see stall_watch.hpp.
    [[nodiscard]] bool awake() const noexcept {
        return baton_.load(std::memory_order_seq_cst) != baton::parked;
    }
    /// Returns whether a step has gone on for so long that new work had better go elsewhere.
    [[nodiscard]] bool held_up() const noexcept { return held_up_.load(std::memory_order_relaxed); }
    void set_held_up(bool value) noexcept { held_up_.store(value, std::memory_order_relaxed); }
    /// Returns when the worker next needs a turn for a timer that its sleeping thread does not know
    /// of (armed in a lent run): the lender must see to it. time_point::max() if there is none.
    [[nodiscard]] time_point lent_deadline() const noexcept;

    // -- the baton holder

    [[nodiscard]] timer_wheel& timers() noexcept { return timers_; }
    /// Returns the time as of the start of this turn; now() when precision matters.
    [[nodiscard]] time_point turn_time() const noexcept { return turn_time_; }
    [[nodiscard]] time_point now() const noexcept { return time_.now(); }
    /// Notes that an established client has sent something, so that handshakes of new clients go
    /// elsewhere.
    void note_client() noexcept { client_heard_ = turn_time_; }
    /// Returns the time of the last note_client().
    [[nodiscard]] time_point client_heard() const noexcept { return client_heard_; }
    /// Counts an await, by the running routine, that need not wait. Returns true if the budget of
    /// its step is spent, and it has to yield instead.
    [[nodiscard]] bool spend() noexcept { return budget_.count() && budget_.look(time_.now()); }
    /// Does what spend() does, with `now` known.
    [[nodiscard]] bool spend(time_point now) noexcept {
        return budget_.count(now) && budget_.look(now);
    }
    /// Notes that the running routine yields.
    void count_yield() noexcept {
        if (budget_.count_yield())
            budget_.look_at_turn(time_.now(), turn_time_);
    }

    /// Returns what is kept here under `key`, or null.
    [[nodiscard]] kept_object* kept(const void* key) const noexcept {
        kept_object* at = kept_;
        while (at != nullptr && at->key_ != key)
            at = at->next_;
        return at;
    }
    /// Keeps `object` until drop() or end_kept().
    void keep(kept_object& object) noexcept;
    /// Takes `object` out, if it is still kept.
    void drop(kept_object& object) noexcept;
    /// Ends what is kept, the latest first. run() does it when the worker is to end and no routine
    /// is left; what is wanted later is made again.
    void end_kept() noexcept;

    /// Runs `r` now, as the rest of the step under way. Not from inside a routine.
    void run_here(runnable& r) noexcept {
        ROTA_CHECK(is_held(), "a step is of the holder of the baton");
        step_.store(&r, std::memory_order_relaxed);
        r();
    }

    // -- the reactor's read side

    /// Takes the baton if the worker is parked, and returns whether it did. Follow by run_lent().
    [[nodiscard]] bool try_lend() noexcept;
    /// Runs what is ready until nothing is or `budget` has been used up, then gives the baton back;
    /// with work left over, to the worker's own thread.
    void run_lent(std::chrono::nanoseconds budget) noexcept;
    /// Gives the baton to the worker's own thread, instead of run_lent().
    void pass_on() noexcept;

    // -- before the thread starts

    /// Sets the watch that is told of wake-ups; it outlives the worker.
    void set_watch(stall_watch* watch) noexcept { watch_ = watch; }

    void set_turn_hook(turn_hook* hook) noexcept { hook_ = hook; }

    // -- the thread that drives it

    /// Runs turns and sleeps in between, until `stop()` was called and no routine is left. Holds
    /// the baton while awake.
    void run() noexcept;
    /// Lets run() return once no routine is left. Any thread.
    void stop() noexcept;
    /// Takes stop() back. Returns true if run() goes on; false, with nothing changed, if it has
    /// returned. Any thread.
    [[nodiscard]] bool try_resume() noexcept;
    /// Makes it usable again after a run() that returned, or a retire(). Call while no thread runs
    /// it.
    void restart() noexcept;
    /// Does what try_resume() does, and restart() if that is false.
    bool resume() noexcept;
    /// Puts it in the state after run() has returned: no place is given. Before the first run(),
    /// with no place taken.
    void retire() noexcept;
    /// Returns true once run() has returned because of stop(). Any thread.
    [[nodiscard]] bool ended() const noexcept { return (population_.load() & ended_bit) != 0; }
    /// Runs one turn without sleeping, for a driver that holds the baton from the beginning
    /// (inline_scheduler): completions, timers, inbox, then up to `steps` runnables. Returns how
    /// many it ran.
    std::size_t turn(std::size_t steps) noexcept;
    /// Calls the hook, as belongs after a turn.
    void end_turn() noexcept;
    [[nodiscard]] bool has_work() const noexcept;
    /// Marks the calling thread as the holder, for a driver that is not run(). Returns what it held
    /// before.
    worker* hold() noexcept;
    static void restore(worker* previous) noexcept;

private:
    // population_: how many places here are taken, and in the two highest bits whether stop()
    // was called and whether run() has returned because of it. One word, so that a place is never
    // given by a worker that ends in the same moment.
    static constexpr std::uint64_t ended_bit = std::uint64_t{1} << 63;
    static constexpr std::uint64_t stopping_bit = std::uint64_t{1} << 62;
    static constexpr std::uint64_t count_mask = stopping_bit - 1;

    [[nodiscard]] bool note_posted() noexcept;
    [[nodiscard]] bool take(baton as) noexcept;
    void sleep() noexcept;
    void await_baton(time_point deadline) noexcept;
    [[nodiscard]] bool drained() const noexcept;
    /// What is kept may hold places (connections), so it goes before the last one is given back.
    [[nodiscard]] bool must_end_kept() const noexcept {
        return keeps_.load(std::memory_order_relaxed) && routines() == 0 &&
               (population_.load(std::memory_order_seq_cst) & stopping_bit) != 0;
    }
    bool end_if_drained() noexcept;
    void give_place_back() noexcept;
    void note_cost(std::size_t events, std::chrono::nanoseconds spent) noexcept;
    void count_queued(std::int64_t change) noexcept;

    /// While one lives, another thread is at work here and the worker does not go.
    class visit {
    public:
        explicit visit(worker& w, std::int64_t posted = 0) noexcept : worker_(w) {
            worker_.inbox_count_.fetch_add(one_visit + posted, std::memory_order_relaxed);
        }
        /// Releases all that the visitor has done here to the destructor. Nothing is touched
        /// afterwards.
        ~visit() { worker_.inbox_count_.fetch_sub(one_visit, std::memory_order_release); }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        worker& worker_;
    };
    static constexpr std::int64_t one_visit = std::int64_t{1} << 32;

    // -- set before the thread starts
    const std::size_t index_;
    const time_source& time_;
    const std::unique_ptr<parking> parking_;
    turn_hook* hook_ = nullptr;
    stall_watch* watch_ = nullptr;

    // -- the baton holder
    run_queue ready_;
    timer_wheel timers_;
    time_point turn_time_;
    time_point client_heard_{};
    time_point turn_until_ = time_point::max(); // earlier in a lent run
    budget budget_;
    kept_object* kept_ = nullptr;

    // -- written by the baton holder, read by any
    std::atomic<std::int64_t> ready_count_{0};
    std::atomic<std::int64_t> cost_ns_{2000};
    std::atomic<std::int64_t> lent_deadline_ns_;
    std::atomic<const runnable*> step_{nullptr};
    std::atomic<std::uint64_t> steps_{0};
    std::atomic<int> thread_{0};
    std::atomic<bool> keeps_{false}; // whether anything is kept

    // -- the worker's own thread
    std::atomic<std::int64_t> sleep_deadline_ns_;

    // -- any thread
    alignas(64) std::atomic<baton> baton_{baton::running};
    std::atomic<std::int64_t> connections_{0};
    std::atomic<std::int64_t> routines_{0};
    std::atomic<std::uint64_t> population_{0};
    std::atomic<std::int64_t> inbox_count_{0}; // from bit 32 on: the visits
    std::atomic<bool> held_up_{false};
    inbox inbox_;
    completion_queue completions_;
};

} // namespace rota
