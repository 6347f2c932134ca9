#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <rota/detail/inbox.hpp>
#include <rota/detail/parker.hpp>
#include <rota/detail/quiet_thread.hpp>
#include <rota/worker.hpp>

#include "backend.hpp"
#include "output.hpp"

namespace rota::io {

/// Sends what connections have queued.
///
/// Outputs with something to send wait in the inbox, each at most once. One state word says what
/// may empty it and enter the ring: nothing (`parked`), the sending thread (`running`), or what
/// flushes on the spot (`lent`): the read side after a batch of lent runs, a worker after its turn.
/// With much to send the thread is woken instead, so that copying large bodies into the kernel does
/// not hold up receiving or handlers. The same if others go on queuing while one flushes: what
/// has lent itself sends for a bounded time. The protocol is the worker's (worker.hpp): push, then
/// look at the word; store `parked`, then look at the inbox.
///
/// In the `per_worker` topology each worker has a write side without a thread. In `dedicated` only
/// the thread sends: it is woken by what finds it asleep, so at most once for all that is queued
/// while it is awake.
class write_side {
public:
    /// With more queued than `inline_send_bytes` the thread sends, if there is one; nullopt:
    /// always.
    write_side(std::unique_ptr<write_backend> backend,
               std::optional<std::size_t> inline_send_bytes);
    ~write_side();
    write_side(const write_side&) = delete;
    write_side& operator=(const write_side&) = delete;

    /// Starts the sending thread. Without it everything is sent by flush().
    void start_thread();
    /// Ends and joins the thread; what is queued stays queued.
    void stop();

    /// Hands `o`, which has `bytes` new bytes to send, to the write side; flush() must follow. Any
    /// thread.
    void enqueue(output& o, std::size_t bytes) noexcept;
    /// Sends what is queued, or sees to it that another thread does. Any thread.
    void flush() noexcept;
    /// Gives memory that is free back to the system, on the sending thread if there is one: it
    /// takes milliseconds. Any thread.
    void return_memory() noexcept;

private:
    static constexpr std::size_t batch_max = 256;
    static constexpr std::size_t vectors_max = 1024; // of a batch
    static constexpr std::size_t outputs_per_round = 1024;
    static constexpr int lent_rounds_max = 2;

    void run() noexcept;
    [[nodiscard]] bool send_round() noexcept;
    void send_batch() noexcept;
    void pass_on() noexcept;
    void check_baton(baton as) const noexcept;

    const std::unique_ptr<write_backend> backend_;
    const std::optional<std::size_t> inline_send_bytes_;
    bool has_thread_ = false;

    // -- any thread
    alignas(64) std::atomic<baton> baton_{baton::parked};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> return_memory_{false};
    std::atomic<std::size_t> queued_bytes_{0};
    inbox inbox_;
    parker parker_;
    quiet_thread thread_;

    // -- the baton holder
    run_queue ready_;
    std::vector<output*> outputs_;
    std::vector<send_request> requests_;
    std::vector<iovec> vectors_;
    std::vector<worker*> posted_; // by the thread's sends, in one round
};

} // namespace rota::io
