#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include <rota/auto_event.hpp>
#include <rota/event.hpp>
#include <rota/task.hpp>

namespace jobs {

/// Work that one routine does on request, once for all requests that have come by then. A caller
/// waits for a bounded time, whatever the work waits for. Any thread, from routines; outlives every
/// wait.
class shared_round {
public:
    using clock = std::chrono::steady_clock;

    /// For the routine that does the work: begin(), the work, end(); again. Throws
    /// operation_cancelled.
    [[nodiscard]] rota::task<void> begin();
    void end();

    /// Requests it, and does not wait.
    void want() { wanted_.notify(); }
    /// Returns true if it has been done within the last `age_max`, or is done now; false if it
    /// takes longer than `patience`. Throws operation_cancelled.
    [[nodiscard]] rota::task<bool> wait(clock::duration age_max, clock::duration patience);

private:
    rota::auto_event wanted_;
    std::mutex lock_;                                                     // guards what follows
    std::shared_ptr<rota::event> done_ = std::make_shared<rota::event>(); // of this round
    clock::time_point ended_at_{};
};

} // namespace jobs
