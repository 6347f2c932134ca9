#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <rota/inbox.hpp>
#include <rota/worker.hpp>

#include "backend.hpp"
#include "operation.hpp"

namespace rota::io {

/// Hands operations to the kernel's receiving side and their completions to the workers that own
/// them.
///
/// One thread drives it: a thread of its own in the `split` topology, where it serves every worker,
/// or a worker's thread in `per_worker`. Anybody may ask for an arm or a
/// cancel: the request is a pair of bits in the operation plus its place in the inbox, and the
/// driver is woken only if it sleeps (store the state, then look at the inbox; push, then look at
/// the state; all sequentially consistent: see worker.hpp).
///
/// A turn: hand over requests, wait, reap everything, publish each worker's batch, then decide for
/// each worker with events whether to wake its thread or to run its work here with its baton. Those
/// to be woken are woken first. No user code runs while completions are being reaped.
///
/// A worker's work that was taken for short may turn out not to be, and the driver is stuck in it.
/// Then another thread becomes the driver (overstayed(), take_over()): it gives the other workers
/// that were to run here to their own threads, and goes on with the same backend, or with one that
/// stands in for it. Who drives is in one word: how often it has changed, how many lent runs there
/// have been, and whether one is under way. The driver stores it before a lent run, which releases
/// all that is below to whoever takes over; when the run has ended it exchanges it, and if that
/// fails it is the driver no more and touches nothing of it. The worker that overstayed is kept off
/// the driver's thread for a minute.
class read_side {
public:
    using time_point = std::chrono::steady_clock::time_point;

    using backend_factory = std::function<std::unique_ptr<read_backend>()>;

    /// Makes its backend at once, so that errors show here.
    read_side(backend_factory make_backend, std::chrono::nanoseconds inline_budget);

    // -- any thread
    /// `bits` is operation::want_arm or want_cancel. An arm is for an idle operation; a cancel of
    /// one that has ended in the meantime does nothing. An arm and a cancel that meet here end the
    /// operation with -ECANCELED. Each cancel is followed by a completion that says `cancel_seen`;
    /// until then the operation must not go.
    void request(operation& op, std::uint32_t bits) noexcept;
    /// Makes the driver come out of its wait, or not wait in its next turn: what was stored before
    /// is seen by what the driver looks at when the turn has ended.
    void wake() noexcept;
    /// For who watches over it, every 20 ms or so, one thread: true if the same lent run has been
    /// seen 5 times, and somebody should take over.
    [[nodiscard]] bool overstayed() noexcept;
    /// True from a take_over() that left a backend behind until that has let go of its descriptors.
    [[nodiscard]] bool is_left() const noexcept { return is_left_.load(std::memory_order_relaxed); }
    /// Makes the calling thread the driver, if overstayed() is still so; false if not, or if it
    /// cannot be just now. Follow by turn().
    [[nodiscard]] bool take_over();

    // -- the driver
    /// One turn that waits until `until` at most; `lend` = it may run workers' work itself. Returns
    /// how many completions there were.
    std::size_t turn(time_point until, bool lend);
    /// False once another thread has taken over from the calling one.
    [[nodiscard]] bool is_driver() const noexcept;
    /// Workers that have been posted to after the last turn, on the driver's thread, without a
    /// wake: the next turn does not wait, and runs or wakes them.
    [[nodiscard]] std::vector<worker*>& posted() noexcept { return posted_; }

    /// Says which read side the calling thread drives from now on, or none; returns what was so
    /// before. For a thread that plays several in turns, as in a simulation.
    static const read_side* play_driver_of(const read_side* next) noexcept;

private:
    struct batch {
        worker* home = nullptr;
        std::vector<completion> completions;
    };

    struct kept_off {
        worker* who;
        time_point until;
    };

    void wake_if_asleep() noexcept;
    void hand_over_requests();
    void arm(operation& op);
    void add(operation& op, std::int32_t result, std::uint32_t flags);
    void dispatch(bool lend);
    void lend_or_wake(worker& w, std::size_t events);
    [[nodiscard]] time_point earliest_lent_deadline() const noexcept;
    [[nodiscard]] bool try_lend(worker& w);
    [[nodiscard]] bool is_kept_off(const worker& w) noexcept;
    void lend_for_timers();
    void run_lent();
    [[nodiscard]] bool run_lent_one(worker& w);

    void enter_thread();
    void link(operation& op) noexcept;
    void unlink(operation& op) noexcept;
    void arm_all_anew();

    const backend_factory make_backend_;
    std::unique_ptr<read_backend> backend_;
    std::unique_ptr<read_backend> left_; // by a take_over(): somebody may still be waking it
    std::atomic<read_backend*> to_wake_; // backend_, for those who do not drive
    const std::chrono::nanoseconds inline_budget_;

    // -- who drives: bit 0 = a lent run is under way, bits 1 to 47 count the runs, those above the
    // drivers. Released by the driver, acquired by who takes over.
    std::atomic<std::uint64_t> drive_{0};

    std::atomic<bool> is_left_{false};

    // -- who watches
    std::uint64_t seen_run_ = 0;
    int seen_times_ = 0;

    // -- any thread
    inbox requests_;
    std::atomic<bool> sleeping_{false};
    std::atomic<bool> woken_{false};

    // -- the driver
    std::thread::id driver_;
    std::array<op_completion, 256> reaped_;
    std::vector<batch> batches_; // by worker index; keeps its capacity
    std::vector<batch*> touched_;
    std::vector<worker*> posted_;
    std::vector<worker*> lent_;
    std::size_t next_lent_ = 0; // of these; the one before it is being run
    operation* first_armed_ = nullptr;
    std::vector<kept_off> kept_off_; // workers that have overstayed
    std::vector<worker*> watched_; // every worker that was ever lent: its timers may be ours to run
};

} // namespace rota::io
