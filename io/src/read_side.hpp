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
/// One thread drives it, for ever the same: a thread of its own in the `split` topology, where it
/// serves every worker, or a worker's thread in `per_worker`. Anybody may ask for an arm or a
/// cancel: the request is a pair of bits in the operation plus its place in the inbox, and the
/// driver is woken only if it sleeps (store the state, then look at the inbox; push, then look at
/// the state; all sequentially consistent: see worker.hpp).
///
/// A turn: hand over requests, wait, reap everything, publish each worker's batch, then decide for
/// each worker with events whether to wake its thread or to run its work here with its baton. Those
/// to be woken are woken first. No user code runs while completions are being reaped.
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
    /// Prepares a listening socket for the backend.
    void prepare_listener(int fd) { backend_->prepare_listener(fd); }

    // -- the driver
    /// One turn that waits until `until` at most; `lend` = it may run workers' work itself. Returns
    /// how many completions there were.
    std::size_t turn(time_point until, bool lend);
    /// Workers that have been posted to after the last turn, on the driver's thread, without a
    /// wake: the next turn does not wait, and runs or wakes them.
    [[nodiscard]] std::vector<worker*>& posted() noexcept { return posted_; }

private:
    struct batch {
        worker* home = nullptr;
        std::vector<completion> completions;
    };

    void wake_if_asleep() noexcept;
    void hand_over_requests();
    void arm(operation& op);
    void add(operation& op, std::int32_t result, std::uint32_t flags);
    void dispatch(bool lend);
    void lend_or_wake(worker& w, std::size_t events);
    [[nodiscard]] time_point earliest_lent_deadline() const noexcept;
    [[nodiscard]] bool try_lend(worker& w);
    void lend_for_timers();

    void enter_thread();

    const backend_factory make_backend_;
    std::unique_ptr<read_backend> backend_;
    const std::chrono::nanoseconds inline_budget_;

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
    std::vector<worker*> watched_; // every worker that was ever lent: its timers may be ours to run
};

} // namespace rota::io
