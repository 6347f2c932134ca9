#include "store.hpp"

#include <algorithm>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <rota/detail/runnable.hpp>
#include <rota/owner_wait.hpp>
#include <rota/routine.hpp>
#include <rota/with_timeout.hpp>
#include <rota/worker.hpp>

namespace jobs {
namespace {

/// Payloads may be large, and all that are taken in one transaction are in memory at once.
constexpr std::size_t weight_of_taker = 2;

} // namespace

/// A routine that waits for its step. It can be cancelled until a connection takes that up.
template <class Need, class Work>
class postgres_store::call final : public rota::owner_wait, private postgres_step {
public:
    using result = std::invoke_result_t<Work&, ledger&>;

    call(postgres_pool& by, step_kind kind, std::size_t weight, time_ms now, Need& need, Work& work)
        : owner_wait("jobs::store"), postgres_step(kind, weight), by_(by), now_(now), need_(need),
          work_(work), back_(*this) {}

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

    void need(postgres_needs& all) const override {
        all.now = std::max(all.now, now_);
        need_(all);
    }
    void run(ledger& on) override { result_.emplace(work_(on)); }
    void done(std::exception_ptr error) noexcept override {
        error_ = std::move(error);
        owner().home().post(back_);
    }
    bool withdraw() noexcept override { return by_.withdraw(*this); }

    postgres_pool& by_;
    const time_ms now_;
    Need& need_;
    Work& work_;
    std::exception_ptr error_;
    std::optional<result> result_;
    way_back back_;
};

/// A step that nobody waits for: deletes itself.
class postgres_store::detached final : public postgres_step {
public:
    detached(std::string queue, std::vector<std::string> leases, bool sent, time_ms now)
        : postgres_step(step_kind::leases, leases.size()), queue_(std::move(queue)),
          leases_(std::move(leases)), sent_(sent), now_(now) {}
    void need(postgres_needs& all) const override {
        all.now = std::max(all.now, now_);
        auto& ids = all.queues[queue_].leases;
        ids.insert(ids.end(), leases_.begin(), leases_.end());
    }
    void run(ledger& on) override { on.put_back(queue_, leases_, sent_, now_); }
    void done(std::exception_ptr) noexcept override { delete this; }

private:
    const std::string queue_;
    const std::vector<std::string> leases_;
    const bool sent_;
    const time_ms now_;
};

template <class Call>
rota::task<typename Call::result> postgres_store::done(Call* of) {
    auto result = co_await *of;
    co_return std::move(result);
}

template <class Need, class Work>
rota::task<std::invoke_result_t<Work&, ledger&>>
postgres_store::perform(step_kind kind, std::size_t weight, time_ms now, Need need, Work work) {
    call<Need, Work> waiting(*pool_, kind, weight, now, need, work);
    store_call seen(health());
    try {
        rota::task<typename call<Need, Work>::result> doing = done(&waiting);
        // A length, not a point in time: the routine's clock may be another, in tests.
        auto result = co_await rota::with_timeout(step_limit - step_needs, std::move(doing));
        seen.succeeded(true);
        co_return std::move(result);
    } catch (const rota::timed_out&) { // no connection has taken it up
        const connection_lost e("the job store's server does not answer");
        seen.failed(e);
        throw connection_lost(e);
    } catch (const store_error& e) {
        seen.failed(e);
        throw;
    }
}

postgres_store::postgres_store(rota::io::context& on, const std::string& url, store_limits limits,
                               postgres_options options, id_source lease_ids)
    : limits_(limits) {
    if (!is_postgres_url(url))
        throw store_error("this is no URL of a PostgreSQL database");
    postgres_news_reader& reader = *this;
    news_ = std::make_unique<postgres_news>(on, url, reachable_, reader);
    pool_ = std::make_unique<postgres_pool>(
        on, url,
        postgres_pool::options{options.connections, limits, std::move(lease_ids), &reachable_},
        [this](const std::vector<change>& what) {
            told(what);
            news_->tell(what);
        });
}

postgres_store::~postgres_store() = default;

void postgres_store::listen(store_listener* to) noexcept {
    const std::lock_guard guard(listener_lock_);
    listener_ = to;
}

void postgres_store::told(const std::vector<change>& what) noexcept {
    const std::lock_guard guard(listener_lock_);
    if (listener_ != nullptr && !what.empty())
        listener_->changed(what);
}

void postgres_store::may_have_jobs(const std::string& queue) noexcept {
    const std::lock_guard guard(listener_lock_);
    if (listener_ != nullptr)
        listener_->look_again(queue, 0);
}

void postgres_store::ends_first(const std::string& queue, time_ms due) noexcept {
    const std::lock_guard guard(listener_lock_);
    if (listener_ != nullptr)
        listener_->look_again(queue, due);
}

// --- Steps. What they are made of is used again if they have to be tried again. ---

rota::task<std::vector<add_result>> postgres_store::add(std::string queue,
                                                        std::vector<new_job> jobs,
                                                        std::optional<idempotency> token,
                                                        time_ms now) {
    struct contents {
        std::string queue;
        std::vector<new_job> jobs;
        std::optional<idempotency> token;
    };
    const auto what = std::make_shared<const contents>(
        contents{std::move(queue), std::move(jobs), std::move(token)});
    return perform(
        step_kind::adds, what->jobs.size(), now,
        [what](postgres_needs& all) {
            auto& of = all.queues[what->queue];
            of.open = true;
            of.counts = true; // for the limit
            for (const new_job& job : what->jobs)
                of.digests.emplace(digest_of(job.key), job.key);
            if (what->token)
                of.tokens.push_back(what->token->token);
            all.ids += what->jobs.size();
        },
        [what, now](ledger& on) { return on.add(what->queue, what->jobs, what->token, now); });
}

rota::task<std::vector<std::vector<taken_job>>>
postgres_store::take(std::string queue, std::vector<take_request> wanted, time_ms now) {
    std::size_t max = 0;
    for (const take_request& each : wanted)
        max += each.max;
    const std::uint64_t bytes = wanted.size() * std::uint64_t{limits_.take_bytes_max};
    const std::size_t weight = max + wanted.size() * weight_of_taker;
    rota::task<std::vector<std::vector<taken_job>>> taking = perform(
        step_kind::takes, weight, now,
        [queue, max, bytes](postgres_needs& all) {
            all.queues[queue].take_max += max;
            all.queues[queue].take_bytes += bytes;
        },
        [queue, wanted = std::move(wanted), now](ledger& on) {
            return on.take(queue, wanted, now);
        });
    std::vector<std::vector<taken_job>> taken = co_await std::move(taking);
    if (std::ranges::any_of(taken, [](const auto& jobs) { return jobs.empty(); }))
        news_->wish(queue);
    co_return std::move(taken);
}

rota::task<settle_result> postgres_store::settle(std::string queue, std::vector<std::string> acks,
                                                 std::vector<retry> retries, time_ms now) {
    std::vector<std::string> leases = acks;
    for (const retry& each : retries)
        leases.push_back(each.lease_id);
    const std::size_t weight = leases.size();
    return perform(
        step_kind::leases, weight, now,
        [queue, leases = std::move(leases)](postgres_needs& all) {
            auto& ids = all.queues[queue].leases;
            ids.insert(ids.end(), leases.begin(), leases.end());
        },
        [queue, acks = std::move(acks), retries = std::move(retries), now](ledger& on) {
            return on.settle(queue, acks, retries, now);
        });
}

rota::task<extend_result> postgres_store::extend(std::string queue, std::vector<std::string> leases,
                                                 std::int64_t lease_ms, time_ms now) {
    const auto ids = std::make_shared<const std::vector<std::string>>(std::move(leases));
    return perform(
        step_kind::leases, ids->size(), now,
        [queue, ids](postgres_needs& all) {
            auto& wanted = all.queues[queue].leases;
            wanted.insert(wanted.end(), ids->begin(), ids->end());
        },
        [queue, ids, lease_ms, now](ledger& on) { return on.extend(queue, *ids, lease_ms, now); });
}

void postgres_store::put_back(std::string queue, std::vector<std::string> leases, bool sent,
                              time_ms now) noexcept {
    try {
        auto what = std::make_unique<detached>(std::move(queue), std::move(leases), sent, now);
        std::exception_ptr error;
        if (pool_->submit(*what, error))
            (void)what.release(); // NOLINT(bugprone-unused-return-value): deletes itself
    } catch (...) {               // the leases end by themselves
    }
}

rota::task<time_ms> postgres_store::pass_time(time_ms now) {
    return perform(
        step_kind::reading, 1, now, [](postgres_needs& all) { all.next_due = true; },
        [now](ledger& on) { return on.pass_time(now); });
}

rota::task<void> postgres_store::probe(time_ms now) {
    rota::task<bool> asking = perform(
        step_kind::reading, 1, now, [](postgres_needs&) {}, [](ledger&) { return true; });
    (void)co_await std::move(asking);
}

rota::task<std::optional<queue_info>> postgres_store::describe(std::string queue, time_ms now) {
    return perform(
        step_kind::looks, 1, now,
        [queue](postgres_needs& all) {
            all.queues[queue].oldest = true;
            all.queues[queue].counts = true;
        },
        [queue, now](ledger& on) { return on.describe(queue, now); });
}

rota::task<queue_list> postgres_store::queues(queues_request what, time_ms now) {
    return perform(
        step_kind::looks, 1, now,
        [what](postgres_needs& all) {
            if (std::ranges::find(all.pages, what) == all.pages.end())
                all.pages.push_back(what);
        },
        [what, now](ledger& on) { return on.queues(what, now); });
}

rota::task<job_list> postgres_store::list(std::string queue, list_request what, time_ms now) {
    return perform(
        step_kind::reading, 1, now,
        [queue, what](postgres_needs& all) { all.queues[queue].list = what; },
        [queue, what, now](ledger& on) { return on.list(queue, what, now); });
}

rota::task<std::optional<job_info>> postgres_store::find(std::string queue, std::uint64_t id,
                                                         time_ms now) {
    return perform(
        step_kind::reading, 1, now,
        [queue, id](postgres_needs& all) { all.queues[queue].read_id = id; },
        [queue, id, now](ledger& on) { return on.find(queue, id, now); });
}

rota::task<job_list> postgres_store::find_key(std::string queue, std::string key, std::size_t limit,
                                              time_ms now) {
    return perform(
        step_kind::reading, 1, now,
        [queue, key, limit](postgres_needs& all) {
            all.queues[queue].key = key;
            all.queues[queue].key_limit = limit;
        },
        [queue, key, limit, now](ledger& on) { return on.find_key(queue, key, limit, now); });
}

rota::task<bool> postgres_store::remove(std::string queue, std::uint64_t id, time_ms now) {
    return perform(
        step_kind::single, 1, now,
        [queue, id](postgres_needs& all) { all.queues[queue].locked_id = id; },
        [queue, id, now](ledger& on) { return on.remove(queue, id, now); });
}

rota::task<bool> postgres_store::configure(std::string queue, queue_settings to, time_ms now) {
    return perform(
        step_kind::single, 1, now,
        [queue](postgres_needs& all) {
            all.queues[queue].open = true;
            all.queues[queue].settings = true;
        },
        [queue, to, now](ledger& on) { return on.configure(queue, to, now); });
}

rota::task<bool> postgres_store::pause(std::string queue, bool paused, time_ms now) {
    return perform(
        step_kind::single, 1, now,
        [queue](postgres_needs& all) {
            all.queues[queue].open = true;
            all.queues[queue].settings = true;
        },
        [queue, paused, now](ledger& on) { return on.pause(queue, paused, now); });
}

rota::task<std::uint64_t> postgres_store::purge(std::string queue, time_ms now) {
    purge_progress at;
    while (!at.done) {
        rota::task<purge_progress> purging = perform(
            step_kind::single, 1, now,
            [queue, at](postgres_needs& all) {
                all.queues[queue].purge = at;
                all.ids += at.before == 0 ? 1 : 0;
            },
            [queue, at, now](ledger& on) { return on.purge(queue, at, now); });
        at = co_await std::move(purging);
    }
    co_return at.purged;
}

rota::task<revive_result> postgres_store::retry_dead(std::string queue, std::uint64_t id,
                                                     time_ms now) {
    return perform(
        step_kind::single, 1, now,
        [queue, id](postgres_needs& all) { all.queues[queue].locked_id = id; },
        [queue, id, now](ledger& on) { return on.retry_dead(queue, id, now); });
}

rota::task<removed_queue> postgres_store::remove_queue(std::string queue, bool forced,
                                                       time_ms now) {
    return perform(
        step_kind::single, 1, now,
        [queue](postgres_needs& all) {
            all.queues[queue].settings = true;
            all.queues[queue].counts = true;
            all.queues[queue].removal = true;
        },
        [queue, forced, now](ledger& on) { return on.remove_queue(queue, forced, now); });
}

rota::task<dead_result> postgres_store::settle_dead(std::string queue, dead_request what,
                                                    time_ms now) {
    const auto asked = std::make_shared<const dead_request>(std::move(what));
    return perform(
        step_kind::single, 1, now,
        [queue, asked](postgres_needs& all) { all.queues[queue].dead = *asked; },
        [queue, asked, now](ledger& on) { return on.settle_dead(queue, *asked, now); });
}

} // namespace jobs
