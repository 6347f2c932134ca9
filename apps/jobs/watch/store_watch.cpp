#include "store_watch.hpp"

#include <new>
#include <utility>

#include <rota/errors.hpp>
#include <rota/sleep.hpp>
#include <rota/sleep_awaiter.hpp>

namespace jobs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds fresh{900};            // for what looks once a second
constexpr milliseconds probe_patience{2'000}; // promised: docs/promises.md
constexpr milliseconds queues_patience{1'000};
constexpr milliseconds between_probes{1'000}; // while it fails
constexpr milliseconds without_memory{100};

} // namespace

store_watch::store_watch(store& of, const time_of_day& by) : store_(of), time_(by) {
    store_.health().on_down([this] { probing_.want(); });
}

store_watch::~store_watch() { store_.health().on_down({}); }

time_ms store_watch::now() const { return time_.at(clock::now()); }

rota::task<void> store_watch::probe_once() {
    if (store_.health().is_up()) {
        co_await probing_.begin();
    }
    if (!store_.health().is_up()) {
        co_await rota::sleep_for(between_probes);
    }
    try {
        co_await store_.probe(now());
        store_.health().probed();
    } catch (const store_error&) { // its health has been told
    }
    probing_.end();
}

rota::task<void> store_watch::list_once() {
    co_await listing_.begin();
    try {
        rota::task<queue_list> asking = store_.queues({}, now());
        queue_list all = co_await std::move(asking);
        auto found = std::make_shared<queues_seen>();
        found->queues = std::move(all.queues);
        found->at = clock::now();
        const std::lock_guard guard(lock_);
        seen_ = std::move(found);
    } catch (const store_error&) { // they are as they were last seen
    }
    listing_.end();
}

rota::task<void> store_watch::probe() { return again_and_again(&store_watch::probe_once); }

rota::task<void> store_watch::list() { return again_and_again(&store_watch::list_once); }

/// Without memory, which others may give back meanwhile, it waits a while: nothing else would make
/// it wait, and it needs none to do so.
rota::task<void> store_watch::again_and_again(rota::task<void> (store_watch::*look)()) {
    const rota::routine& self = co_await rota::current_routine;
    for (;;) {
        try {
            co_await (this->*look)();
            continue;
        } catch (const std::bad_alloc&) {
        }
        rota::sleep_awaiter pause(self.home().now() + without_memory);
        co_await pause;
    }
}

rota::task<store_state> store_watch::state() {
    store_health& health = store_.health();
    if (health.is_up() && !health.worked_since(clock::now() - fresh)) {
        const bool answered = co_await probing_.wait(fresh, probe_patience);
        if (!answered)
            health.failed(store_fault::late, "the job store does not answer");
    }
    co_return health.state();
}

rota::task<std::shared_ptr<const store_watch::queues_seen>> store_watch::queues() {
    (void)co_await listing_.wait(fresh, queues_patience);
    const std::lock_guard guard(lock_);
    co_return seen_;
}

} // namespace jobs
