#include "ledger_store.hpp"

#include <coroutine>
#include <memory>
#include <type_traits>

#include <rota/routine.hpp>
#include <rota/yield.hpp>

namespace jobs {
namespace {

/// What a job takes up beside its texts, in rows and indexes.
constexpr std::size_t bytes_of_row = 200;

} // namespace

/// A routine that waits for its step. Once it has been submitted it is awaited to its end.
template <class Work>
class ledger_store::call final : public rota::owner_wait, private ledger_store::step {
public:
    using result = std::invoke_result_t<Work&, ledger&>;

    call(ledger_store& by, Work& work, step_nature what) noexcept
        : owner_wait("jobs::store"), step(what), by_(by), work_(work), back_(*this) {}

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return wait(self, [this] { return by_.submit(*this, error_); });
    }
    result await_resume() {
        owner_wait::finish();
        if (error_)
            std::rethrow_exception(error_);
        return std::move(*result_);
    }

private:
    /// Comes back to the routine's worker.
    struct way_back : rota::runnable {
        explicit way_back(call& c) noexcept : rota::runnable(&arrive), of(c) {}
        static void arrive(rota::runnable& self) noexcept {
            static_cast<way_back&>(self).of.complete();
        }
        call& of;
    };

    void run(ledger& on) override { result_.emplace(work_(on)); }
    void done(std::exception_ptr error) noexcept override {
        error_ = std::move(error);
        owner().home().post(back_);
    }
    bool withdraw() noexcept override { return false; }

    ledger_store& by_;
    Work& work_;
    std::exception_ptr error_;
    std::optional<result> result_;
    way_back back_;
};

/// A step that nobody waits for: deletes itself.
class ledger_store::detached final : public ledger_store::step {
public:
    detached(std::string queue, std::vector<std::string> leases, bool sent, time_ms now)
        : step({}), queue_(std::move(queue)), leases_(std::move(leases)), sent_(sent), now_(now) {}
    void run(ledger& on) override { on.put_back(queue_, leases_, sent_, now_); }
    void done(std::exception_ptr) noexcept override { delete this; }

private:
    std::string queue_;
    std::vector<std::string> leases_;
    bool sent_;
    time_ms now_;
};

template <class Work>
rota::task<std::invoke_result_t<Work&, ledger&>> ledger_store::perform(Work work,
                                                                       step_nature what) {
    call<Work> waiting(*this, work, what);
    store_call seen(health());
    try {
        auto result = co_await waiting;
        seen.succeeded(what.probes || what.adds_bytes != 0);
        co_return std::move(result);
    } catch (const store_error& e) {
        seen.failed(e);
        throw;
    }
}

void ledger_store::listen(store_listener* to) noexcept {
    const std::lock_guard guard(listener_lock_);
    listener_ = to;
}

void ledger_store::tell(const std::vector<change>& what) noexcept {
    const std::lock_guard guard(listener_lock_);
    if (listener_ != nullptr && !what.empty())
        listener_->changed(what);
}

rota::task<std::vector<add_result>> ledger_store::add(std::string queue, std::vector<new_job> jobs,
                                                      std::optional<idempotency> token,
                                                      time_ms now) {
    step_nature what;
    for (const new_job& job : jobs)
        what.adds_bytes += job.key.size() + job.payload.size() + bytes_of_row;
    return perform([queue = std::move(queue), jobs = std::move(jobs), token = std::move(token),
                    now](ledger& on) mutable { return on.add(queue, std::move(jobs), token, now); },
                   what);
}

rota::task<std::vector<std::vector<taken_job>>>
ledger_store::take(std::string queue, std::vector<take_request> wanted, time_ms now) {
    return perform([queue = std::move(queue), wanted = std::move(wanted), now](ledger& on) {
        return on.take(queue, wanted, now);
    });
}

rota::task<settle_result> ledger_store::settle(std::string queue, std::vector<std::string> acks,
                                               std::vector<retry> retries, time_ms now) {
    return perform([queue = std::move(queue), acks = std::move(acks), retries = std::move(retries),
                    now](ledger& on) { return on.settle(queue, acks, retries, now); });
}

rota::task<extend_result> ledger_store::extend(std::string queue, std::vector<std::string> leases,
                                               std::int64_t lease_ms, time_ms now) {
    return perform([queue = std::move(queue), leases = std::move(leases), lease_ms,
                    now](ledger& on) { return on.extend(queue, leases, lease_ms, now); });
}

void ledger_store::put_back(std::string queue, std::vector<std::string> leases, bool sent,
                            time_ms now) noexcept {
    try {
        auto what = std::make_unique<detached>(std::move(queue), std::move(leases), sent, now);
        std::exception_ptr error;
        if (submit(*what, error))
            (void)what.release(); // NOLINT(bugprone-unused-return-value): deletes itself
    } catch (...) {               // the leases end by themselves
    }
}

rota::task<time_ms> ledger_store::pass_time(time_ms now) {
    return perform([now](ledger& on) { return on.pass_time(now); });
}

rota::task<void> ledger_store::probe(time_ms now) {
    rota::task<time_ms> asking =
        perform([now](ledger& on) { return on.pass_time(now); }, {.probes = true});
    (void)co_await std::move(asking);
}

rota::task<std::optional<queue_info>> ledger_store::describe(std::string queue, time_ms now) {
    return perform([queue = std::move(queue), now](ledger& on) { return on.describe(queue, now); });
}

rota::task<queue_list> ledger_store::queues(queues_request what, time_ms now) {
    return perform([what = std::move(what), now](ledger& on) { return on.queues(what, now); });
}

rota::task<job_list> ledger_store::list(std::string queue, list_request what, time_ms now) {
    return perform(
        [queue = std::move(queue), what, now](ledger& on) { return on.list(queue, what, now); });
}

rota::task<std::optional<job_info>> ledger_store::find(std::string queue, std::uint64_t id,
                                                       time_ms now) {
    return perform(
        [queue = std::move(queue), id, now](ledger& on) { return on.find(queue, id, now); });
}

rota::task<job_list> ledger_store::find_key(std::string queue, std::string key, std::size_t limit,
                                            time_ms now) {
    return perform([queue = std::move(queue), key = std::move(key), limit, now](ledger& on) {
        return on.find_key(queue, key, limit, now);
    });
}

rota::task<bool> ledger_store::remove(std::string queue, std::uint64_t id, time_ms now) {
    return perform(
        [queue = std::move(queue), id, now](ledger& on) { return on.remove(queue, id, now); });
}

rota::task<bool> ledger_store::configure(std::string queue, queue_settings to, time_ms now) {
    return perform(
        [queue = std::move(queue), to, now](ledger& on) { return on.configure(queue, to, now); });
}

rota::task<bool> ledger_store::pause(std::string queue, bool paused, time_ms now) {
    return perform([queue = std::move(queue), paused, now](ledger& on) {
        return on.pause(queue, paused, now);
    });
}

rota::task<std::uint64_t> ledger_store::purge(std::string queue, time_ms now) {
    purge_progress at;
    for (;;) {
        rota::task<purge_progress> purging =
            perform([queue, at, now](ledger& on) { return on.purge(queue, at, now); });
        at = co_await std::move(purging);
        if (at.done)
            co_return at.purged;
        co_await rota::yield(); // a store in memory waits for nothing
    }
}

rota::task<revive_result> ledger_store::retry_dead(std::string queue, std::uint64_t id,
                                                   time_ms now) {
    return perform(
        [queue = std::move(queue), id, now](ledger& on) { return on.retry_dead(queue, id, now); });
}

rota::task<removed_queue> ledger_store::remove_queue(std::string queue, bool forced, time_ms now) {
    return perform([queue = std::move(queue), forced, now](ledger& on) {
        return on.remove_queue(queue, forced, now);
    });
}

rota::task<dead_result> ledger_store::settle_dead(std::string queue, dead_request what,
                                                  time_ms now) {
    return perform([queue = std::move(queue), what = std::move(what), now](ledger& on) {
        return on.settle_dead(queue, what, now);
    });
}

} // namespace jobs
