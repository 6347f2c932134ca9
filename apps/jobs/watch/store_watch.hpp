#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include <rota/task.hpp>

#include "jobs/rules/time_of_day.hpp"
#include "jobs/store.hpp"
#include "shared_round.hpp"

namespace jobs {

/// What is known of a store and of its queues, for what looks at it from time to time: health
/// checks, metrics, the console. None of them waits for long, whatever the store waits for, and any
/// number of them cost it one look a second. If nothing looks, it costs nothing.
///
/// Any thread, from routines. The store and the time outlive it; it outlives its callers.
class store_watch {
public:
    using clock = std::chrono::steady_clock;
    /// As of `at`, which may be long ago.
    struct queues_seen {
        std::vector<queue_info> queues{};
        clock::time_point at{};
    };

    store_watch(store& of, const time_of_day& by);
    ~store_watch();
    store_watch(const store_watch&) = delete;
    store_watch& operator=(const store_watch&) = delete;

    /// Probes the store on request, and once a second while it fails. To be run as one routine;
    /// ends by operation_cancelled.
    [[nodiscard]] rota::task<void> probe();
    /// Lists the queues on request. Otherwise like probe().
    [[nodiscard]] rota::task<void> list();

    /// Returns how the store is: by its calls of the last second, or else by a probe, for which it
    /// waits two seconds; then the store is down.
    [[nodiscard]] rota::task<store_state> state();
    /// Returns the queues as they were a second ago, or now if that is possible within a second, or
    /// whenever they were last seen; null: never. Throws operation_cancelled only.
    [[nodiscard]] rota::task<std::shared_ptr<const queues_seen>> queues();

private:
    [[nodiscard]] time_ms now() const;
    rota::task<void> again_and_again(rota::task<void> (store_watch::*look)());
    rota::task<void> probe_once();
    rota::task<void> list_once();

    store& store_;
    const time_of_day& time_;
    shared_round probing_;
    shared_round listing_;
    std::mutex lock_; // guards what follows
    std::shared_ptr<const queues_seen> seen_;
};

} // namespace jobs
