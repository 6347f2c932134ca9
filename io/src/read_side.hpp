#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <rota/detail/inbox.hpp>
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
/// that were to run here to their own threads, and goes on with the same backend, or, since a ring
/// belongs to one thread for ever, with a new one of its own, on which everything is armed anew.
/// What drives is in one word: how often it has changed, how many lent runs there have been, and
/// whether one is under way. The driver stores it before a lent run, which releases all that is
/// below to what takes over; when the run has ended it exchanges it, and if that fails it is the
/// driver no more and touches nothing of it but the backend that was left to it, which it ends. The
/// worker that overstayed is kept off the driver's thread for a minute.
///
/// Memory may run out anywhere. What cannot be noted, sorted or delivered stays where it is, a
/// request in the inbox, a completion in its array, a batch with its worker, and is tried again in
/// the next turn.
class read_side {
public:
    using time_point = std::chrono::steady_clock::time_point;

    using backend_factory = std::function<std::unique_ptr<read_backend>()>;

    /// Makes its backend at once, so that errors show here. Without a budget it never runs a
    /// worker's work itself.
    read_side(backend_factory make_backend, std::optional<std::chrono::nanoseconds> inline_budget);

    // -- any thread
    /// `bits` is operation::want_arm or want_cancel (want_end is the driver's). An arm is for an
    /// idle operation; a cancel of one that has ended in the meantime does nothing. An arm and a
    /// cancel that meet here end the operation with -ECANCELED. Each cancel is followed by a
    /// completion that says `cancel_seen`; until then the operation must not go.
    void request(operation& op, std::uint32_t bits) noexcept;
    /// Makes the driver come out of its wait, or not wait in its next turn: what was stored before
    /// is seen by what the driver looks at when the turn has ended.
    void wake() noexcept;
    /// For what watches over it, every 20 ms or so, one thread: true if the same lent run has been
    /// seen 5 times, and another thread should take over.
    [[nodiscard]] bool overstayed() noexcept;
    /// True from a take_over() that left a backend behind until that has let go of its descriptors.
    [[nodiscard]] bool is_left() const noexcept {
        return left_count_.load(std::memory_order_relaxed) != 0;
    }
    /// Makes the calling thread the driver, if overstayed() is still so; false if not, or if it
    /// cannot be just now. Follow by turn(). Throws std::system_error and std::bad_alloc if there
    /// is no backend to be had, and then nothing has changed.
    [[nodiscard]] bool take_over();

    // -- the driver
    /// One turn that waits until `until` at most; `lend` = it may run workers' work itself. Returns
    /// how many completions there were. The first turn of a thread makes it the driver; if it can
    /// have no backend, that is logged and tried again in each turn.
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
    void look_at_request(operation& op, batch& to);
    void arm(operation& op, batch& to);
    /// Where the completions of `home` gather, with room for so many more; null if there is no
    /// memory for it.
    [[nodiscard]] batch* room_for(worker& home, std::size_t count) noexcept {
        const std::size_t index = home.index();
        if (index < batches_.size()) [[likely]] {
            batch& b = batches_[index];
            if (b.completions.capacity() - b.completions.size() >= count) [[likely]]
                return &b;
        }
        return make_room(index, count);
    }
    [[nodiscard]] batch* make_room(std::size_t index, std::size_t count) noexcept;
    void add(batch& to, operation& op, std::int32_t result, std::uint32_t flags) noexcept;
    std::size_t reap(time_point until, bool lend);
    [[nodiscard]] bool deliver_to_one(bool lend);
    [[nodiscard]] bool sort_reaped() noexcept;
    void deliver(bool lend);
    void lend_or_wake(worker& w, std::size_t events);
    [[nodiscard]] time_point earliest_lent_deadline() const noexcept;
    [[nodiscard]] bool try_lend(worker& w);
    [[nodiscard]] bool is_kept_off(const worker& w) noexcept;
    void lend_for_timers();
    void run_lent();
    [[nodiscard]] bool run_lent_one(worker& w);
    void leave(const read_backend* mine) noexcept;

    [[nodiscard]] bool enter_thread();
    void link(operation& op) noexcept;
    void unlink(operation& op) noexcept;
    void request_all_anew() noexcept;

    const backend_factory make_backend_;
    const std::optional<std::chrono::nanoseconds> inline_budget_;

    // -- lock_: the driver changes backend_ under it, and reads it without; all others take it, so
    // that none is woken that goes. It is held for no longer than a wake takes.
    std::mutex lock_;
    std::unique_ptr<read_backend> backend_;
    std::vector<std::unique_ptr<read_backend>> left_; // by take_over(), until their threads leave

    // -- what drives: bit 0 = a lent run is under way, bits 1 to 47 count the runs, those above the
    // drivers. Released by the driver, acquired by what takes over.
    std::atomic<std::uint64_t> drive_{0};

    std::atomic<int> left_count_{0};

    // -- what watches
    std::uint64_t seen_run_ = 0;
    int seen_times_ = 0;

    // -- any thread
    inbox requests_;
    std::atomic<bool> sleeping_{false};
    std::atomic<bool> woken_{false};

    // -- the driver
    std::thread::id driver_;
    std::uint64_t generation_ = 1; // of backend_: how many there have been
    bool buffers_home_ = true;     // when backend_ began, none was away
    bool is_short_ = false;        // of memory, in this turn: nothing is lent
    bool said_so_ = false;         // that there is no backend to be had
    std::array<op_completion, 256> reaped_;
    std::size_t next_reaped_ = 0; // of these, the first that is not sorted yet
    std::size_t reaped_count_ = 0;
    bool still_linked_ = true; // those of them that have ended, among what is armed
    std::array<completion, 256> for_one_;
    std::vector<batch> batches_;       // by worker index; keeps its capacity
    std::vector<std::size_t> touched_; // of these, by index; has room for all
    std::vector<worker*> posted_;
    std::vector<worker*> lent_;
    std::size_t next_lent_ = 0; // of these; the one before it is being run
    operation* first_armed_ = nullptr;
    std::vector<kept_off> kept_off_; // workers that have overstayed
    /// Every worker that was ever lent: its timers may be ours to run. lent_ and kept_off_ have
    /// room for as many.
    std::vector<worker*> watched_;
};

} // namespace rota::io
