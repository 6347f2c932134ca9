#include "store.hpp"

#include <algorithm>
#include <coroutine>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <rota/detail/runnable.hpp>
#include <rota/errors.hpp>
#include <rota/owner_wait.hpp>
#include <rota/routine.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>
#include <rota/yield.hpp>

#include "rules/step.hpp"

namespace jobs {

/// A routine that waits for its step: it can be cancelled until the store takes that up.
template <class Operation>
class store::call final : public rota::owner_wait, public store_step {
public:
    using result = result_of<Operation>;

    call(store& by, Operation what)
        : owner_wait("jobs::store"),
          store_step(operations::any(std::in_place_type<Operation>, std::move(what))), by_(by),
          back_(*this) {}

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

    /// It has failed, and may have been done: what it gave out nobody has got.
    void disown() noexcept {
        if constexpr (std::is_same_v<Operation, operations::take>) {
            const auto& what = *std::get_if<Operation>(&operation_);
            if (result_)
                by_.disown(what.queue, *result_, what.now);
        }
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

    void run(ledger& on, bool again) override {
        auto& what = *std::get_if<Operation>(&operation_);
        if (again) {
            Operation copy = what;
            result_.emplace(copy.run(on));
        } else {
            result_.emplace(what.run(on));
        }
    }
    void done(std::exception_ptr error) noexcept override {
        error_ = std::move(error);
        owner().home().post(back_);
    }
    bool withdraw() noexcept override {
        return by_.withdraw(*this, owner().stop_token().stop_requested());
    }

    store& by_;
    std::exception_ptr error_;
    std::optional<result> result_;
    way_back back_;
};

/// A step that nobody waits for: deletes itself.
class store::detached final : public store_step {
public:
    detached(store& by, unreturned::leases what, time_ms now)
        : store_step(operations::put_back{std::move(what.queue), std::move(what.ids), what.sent,
                                          what.unsure, now}),
          by_(by), until_(what.until) {}
    void run(ledger& on, bool) override { step().run(on); }
    void done(std::exception_ptr error) noexcept override {
        if (error) {
            by_.unreturned_.keep({std::move(step().queue), std::move(step().leases), step().sent,
                                  step().unsure, until_});
        }
        delete this;
    }

private:
    operations::put_back& step() noexcept {
        return *std::get_if<operations::put_back>(&operation_);
    }

    store& by_;
    const time_ms until_;
};

template <class Call>
rota::task<typename Call::result> store::done(Call* of) {
    co_return co_await *of;
}

template <class Operation>
rota::task<store::result_of<Operation>> store::perform(Operation what) {
    call<Operation> waiting(*this, std::move(what));
    const bool proves = waiting.probes() || waiting.adds_bytes() != 0;
    store_call seen(health_);
    try {
        std::optional<result_of<Operation>> result;
        if (const auto limit = begin_within(); limit.count() != 0) {
            // A length, not a point in time: the routine's clock may be another, in tests.
            result.emplace(co_await rota::with_timeout(limit, done(&waiting)));
        } else {
            result.emplace(co_await waiting);
        }
        seen.succeeded(proves);
        co_return std::move(*result);
    } catch (const rota::timed_out&) { // nobody has taken it up
        const store_error e("the job store's server does not answer", store_fault::unreachable);
        seen.failed(e);
        throw e;
    } catch (const store_error& e) {
        if (e.kind() == store_fault::unknown)
            waiting.disown();
        seen.failed(e);
        throw;
    } catch (const std::bad_alloc&) { // perhaps in place of the error
        waiting.disown();
        throw;
    }
}

void store::listen(store_listener* to) noexcept {
    const std::lock_guard guard(listener_lock_);
    listener_ = to;
}

void store::tell(const std::vector<change>& what) noexcept {
    const std::lock_guard guard(listener_lock_);
    if (listener_ != nullptr && !what.empty())
        listener_->changed(what);
}

void store::tell_to_look(const std::string& queue, time_ms due) noexcept {
    const std::lock_guard guard(listener_lock_);
    if (listener_ != nullptr)
        listener_->look_again(queue, due);
}

rota::task<std::vector<add_result>> store::add(std::string queue, std::vector<new_job> jobs,
                                               std::optional<idempotency> token, time_ms now) {
    return perform(operations::add{std::move(queue), std::move(jobs), std::move(token), now});
}

rota::task<std::vector<std::vector<taken_job>>>
store::take(std::string queue, std::vector<take_request> wanted, time_ms now) {
    operations::take what{queue, std::move(wanted), now};
    auto taken = co_await perform(std::move(what));
    if (std::ranges::any_of(taken, [](const auto& jobs) { return jobs.empty(); }))
        wish(queue);
    co_return std::move(taken);
}

rota::task<settle_result> store::settle(std::string queue, std::vector<std::string> acks,
                                        std::vector<retry> retries, time_ms now) {
    return perform(operations::settle{std::move(queue), std::move(acks), std::move(retries), now});
}

rota::task<extend_result> store::extend(std::string queue, std::vector<std::string> leases,
                                        std::int64_t lease_ms, time_ms now) {
    return perform(operations::extend{std::move(queue), std::move(leases), lease_ms, now});
}

void store::put_back(std::string queue, std::vector<std::string> leases, bool sent,
                     time_ms now) noexcept {
    put_back({std::move(queue), std::move(leases), sent, false, now + lease_ms_max}, now);
}

void store::put_back(unreturned::leases what, time_ms now) noexcept {
    std::unique_ptr<detached> step;
    std::exception_ptr error;
    bool taken = false;
    try {
        step = std::make_unique<detached>(*this, std::move(what), now);
        taken = submit(*step, error);
    } catch (...) {
        error = std::current_exception();
    }
    detached* const made = step.release(); // deletes itself
    if (made != nullptr && !taken)
        made->done(error);
}

rota::task<bool> store::put_back_again(time_ms now) {
    std::optional<unreturned::leases> kept = unreturned_.next(now);
    if (!kept)
        co_return false;
    try {
        operations::put_back what{kept->queue, kept->ids, kept->sent, kept->unsure, now};
        (void)co_await perform(std::move(what));
    } catch (...) {
        unreturned_.keep(std::move(*kept));
        throw;
    }
    co_return true;
}

void store::put_back_rest(time_ms now) noexcept {
    for (std::size_t left = unreturned_.size(); left > 0; --left) { // what fails is kept anew
        if (auto kept = unreturned_.next(now))
            put_back(std::move(*kept), now);
    }
}

/// What has been given out, if it has.
void store::disown(const std::string& queue, const std::vector<std::vector<taken_job>>& given,
                   time_ms now) noexcept {
    try {
        for (const std::vector<taken_job>& jobs : given) {
            unreturned::leases some{queue, {}, false, true, now};
            for (const taken_job& job : jobs) {
                some.ids.push_back(job.lease_id);
                some.until = std::max(some.until, job.lease_expires_at);
            }
            if (!jobs.empty())
                unreturned_.keep(std::move(some));
        }
    } catch (const std::bad_alloc&) { // the leases end by themselves
    }
}

rota::task<time_ms> store::pass_time(time_ms now) { return perform(operations::pass_time{now}); }

rota::task<void> store::probe(time_ms now) {
    rota::task<bool> probing = perform(operations::probe{now, health_.is_full()});
    (void)co_await std::move(probing);
}

rota::task<std::optional<queue_info>> store::describe(std::string queue, time_ms now) {
    return perform(operations::describe{std::move(queue), now});
}

rota::task<queue_list> store::queues(queues_request what, time_ms now) {
    return perform(operations::queues{std::move(what), now});
}

rota::task<job_list> store::list(std::string queue, list_request what, time_ms now) {
    return perform(operations::list{std::move(queue), what, now});
}

rota::task<std::optional<job_info>> store::find(std::string queue, std::uint64_t id, time_ms now) {
    return perform(operations::find{std::move(queue), id, now});
}

rota::task<job_list> store::find_key(std::string queue, std::string key, std::size_t limit,
                                     time_ms now) {
    return perform(operations::find_key{std::move(queue), std::move(key), limit, now});
}

rota::task<bool> store::remove(std::string queue, std::uint64_t id, time_ms now) {
    return perform(operations::remove{std::move(queue), id, now});
}

rota::task<std::optional<queue_info>> store::configure(std::string queue, queue_settings to,
                                                       time_ms now) {
    return perform(operations::configure{std::move(queue), to, now});
}

rota::task<std::optional<queue_info>> store::pause(std::string queue, bool paused, time_ms now) {
    return perform(operations::pause{std::move(queue), paused, now});
}

rota::task<std::uint64_t> store::purge(std::string queue, time_ms now) {
    operations::purge what{std::move(queue), {}, now};
    for (;;) {
        what.at = co_await perform(what);
        if (what.at.done)
            co_return what.at.purged;
        co_await rota::yield(); // a store in memory waits for nothing
    }
}

rota::task<revive_result> store::retry_dead(std::string queue, std::uint64_t id, time_ms now) {
    return perform(operations::retry_dead{std::move(queue), id, now});
}

rota::task<removed_queue> store::remove_queue(std::string queue, bool forced, time_ms now,
                                              std::uint64_t number) {
    return perform(operations::remove_queue{std::move(queue), number, forced, now});
}

rota::task<dead_result> store::settle_dead(std::string queue, dead_request what, time_ms now) {
    return perform(operations::settle_dead{std::move(queue), std::move(what), now});
}

} // namespace jobs
