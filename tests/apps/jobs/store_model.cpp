#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "store_driver.hpp"

// Random calls, held against a model that is as simple as can be: a list of jobs that is searched
// from end to end.

using namespace jobs;

namespace {

struct model_job {
    std::uint64_t id;
    std::string key;
    int priority;
    job_state state;
    time_ms due;
    std::uint32_t attempts;
    std::string lease;
};

bool goes_first(const model_job* a, const model_job* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

class model {
public:
    model(std::uint32_t attempts_max, std::size_t jobs_max)
        : attempts_max_(attempts_max), jobs_max_(jobs_max) {}

    void pass(time_ms now) {
        for (model_job& job : jobs_) {
            if (job.due == 0 || job.due >= now)
                continue;
            if (job.state == job_state::in_progress) {
                fail(job, std::nullopt, now);
            } else {
                job.state = job_state::queued;
                job.due = 0;
            }
        }
    }
    /// `id` is what the store would call it.
    add_outcome add(const std::string& key, std::int64_t delay, int priority, time_ms now,
                    std::uint64_t id) {
        for (const model_job& job : jobs_) {
            if (job.key == key && job.state != job_state::dead)
                return add_outcome::duplicate;
        }
        if (jobs_.size() >= jobs_max_)
            return add_outcome::full;
        REQUIRE(id > last_id_);
        last_id_ = id;
        jobs_.push_back({id, key, priority, delay > 0 ? job_state::delayed : job_state::queued,
                         delay > 0 ? now + delay : 0, 0, ""});
        return add_outcome::added;
    }
    std::vector<model_job*> next(std::size_t max) {
        std::vector<model_job*> all;
        for (model_job& job : jobs_) {
            if (job.state == job_state::queued)
                all.push_back(&job);
        }
        std::ranges::sort(all, goes_first);
        all.resize(std::min(max, all.size()));
        return all;
    }
    model_job* leased(const std::string& lease) {
        const auto found = std::ranges::find(jobs_, lease, &model_job::lease);
        return lease.empty() || found == jobs_.end() ? nullptr : &*found;
    }
    void erase(const model_job& job) {
        std::erase_if(jobs_, [id = job.id](const model_job& j) { return j.id == id; });
    }
    /// Without a delay that is said, it waits from the second failure on, as long as `waits` (to be
    /// set) says that the store lets it, if that may be.
    void fail(model_job& job, std::optional<std::int64_t> delay, time_ms now) {
        job.lease.clear();
        std::int64_t wait = delay.value_or(0);
        if (!delay && job.attempts > 1 && job.attempts < attempts_max_) {
            const std::int64_t longest = std::min<std::int64_t>(20LL << (job.attempts - 2), 50);
            wait = waits(job.id) - now;
            REQUIRE(wait <= longest);
            REQUIRE(wait >= longest / 2);
        }
        job.state = wait != 0 ? job_state::delayed : job_state::queued;
        job.due = wait != 0 ? now + wait : 0;
        if (job.attempts >= attempts_max_) {
            job.state = job_state::dead;
            job.due = 0;
        }
    }
    [[nodiscard]] std::vector<std::string> keys(job_state state) {
        std::vector<const model_job*> all;
        for (const model_job& job : jobs_) {
            if (job.state == state)
                all.push_back(&job);
        }
        std::ranges::sort(all, goes_first);
        std::vector<std::string> result;
        for (const model_job* job : all)
            result.push_back(job->key);
        return result;
    }

    std::function<time_ms(std::uint64_t id)> waits; // until when a job waits in the store

private:
    const std::uint32_t attempts_max_;
    const std::size_t jobs_max_;
    std::vector<model_job> jobs_;
    std::uint64_t last_id_ = 0;
};

/// One run: the store, the model, and what the consumers hold (stale leases among it).
struct random_run {
    random_run(const std::string& kind, unsigned seed) : d(kind, {.lease_ms = 100}), rng(seed) {
        d.configure({.max_jobs = 12,
                     .max_attempts = 4,
                     .backoff = {.after = 1, .initial_ms = 20, .max_ms = 50}});
        m.waits = [this](std::uint64_t id) {
            return d.wait(d.store().find(d.queue, id, d.now))->due_at;
        };
    }

    int pick(int most) { return static_cast<int>(rng() % static_cast<unsigned>(most + 1)); }
    std::string some_lease() {
        return held.empty() ? "none" : held[static_cast<std::size_t>(pick(int(held.size()) - 1))];
    }

    void add() {
        const std::string key = std::to_string(pick(15));
        const std::int64_t delay = pick(3) == 0 ? 1 + pick(150) : 0;
        const int priority = pick(2) == 0 ? pick(9) : 0;
        const add_result added = d.add(key, delay, priority);
        REQUIRE(added.outcome == m.add(key, delay, priority, d.now, added.id));
    }
    void take() {
        const std::int64_t lease = 1 + pick(200);
        const std::vector<model_job*> wanted = m.next(static_cast<std::size_t>(1 + pick(3)));
        const auto got = d.take(std::max<std::size_t>(wanted.size(), 1), lease);
        REQUIRE(got.size() == wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            REQUIRE(got[i].key == wanted[i]->key);
            REQUIRE(got[i].id == wanted[i]->id);
            REQUIRE(got[i].attempt == ++wanted[i]->attempts);
            REQUIRE(std::ranges::find(held, got[i].lease_id) == held.end());
            wanted[i]->state = job_state::in_progress;
            wanted[i]->due = d.now + lease;
            wanted[i]->lease = got[i].lease_id;
            held.push_back(got[i].lease_id);
        }
    }
    void ack() {
        const std::string lease = some_lease();
        model_job* const job = m.leased(lease);
        REQUIRE(d.ack({lease}).acked == (job != nullptr ? 1 : 0));
        if (job != nullptr)
            m.erase(*job);
    }
    void nack() {
        const std::string lease = some_lease();
        std::optional<std::int64_t> delay;
        if (pick(1) == 0)
            delay = pick(100);
        model_job* const job = m.leased(lease);
        REQUIRE(d.retry(lease, delay).retried == (job != nullptr ? 1 : 0));
        if (job != nullptr)
            m.fail(*job, delay, d.now);
    }
    /// The consumer has gone: before its jobs were sent, or while they were.
    void disconnect() {
        const std::string lease = some_lease();
        const bool sent = pick(1) == 0;
        d.store().put_back(d.queue, {lease}, sent, d.now);
        model_job* const job = m.leased(lease);
        if (job == nullptr)
            return;
        if (sent) {
            m.fail(*job, std::nullopt, d.now);
            return;
        }
        --job->attempts;
        job->state = job_state::queued;
        job->due = 0;
        job->lease.clear();
    }
    void extend() {
        const std::string lease = some_lease();
        const extend_result longer = d.wait(d.store().extend(d.queue, {lease}, 150, d.now));
        model_job* const job = m.leased(lease);
        REQUIRE(longer.leases.size() == (job != nullptr ? 1 : 0));
        if (job != nullptr)
            job->due = d.now + 150;
    }
    void purge_the_dead() {
        for (const job_info& job :
             d.wait(d.store().list(d.queue, {.state = job_state::dead}, d.now)).jobs) {
            REQUIRE(d.wait(d.store().remove(d.queue, job.id, d.now)));
            m.erase({.id = job.id});
        }
    }

    void step() {
        d.now += pick(20);
        m.pass(d.now);
        switch (pick(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
            return add();
        case 4:
        case 5:
            return take();
        case 6:
        case 7:
            return ack();
        case 8:
            return nack();
        case 9:
            return disconnect();
        case 10:
            return extend();
        case 11:
            return pick(9) == 0 ? purge_the_dead() : compare();
        default:
            if (d.lasts() && pick(4) == 0)
                d.reopen();
        }
    }
    void compare() {
        queue_counts counts = d.counts();
        for (const auto& [state, count] : {std::pair{job_state::queued, counts.queued},
                                           {job_state::delayed, counts.delayed},
                                           {job_state::in_progress, counts.in_progress},
                                           {job_state::dead, counts.dead}}) {
            CAPTURE(static_cast<int>(state));
            REQUIRE(d.keys(state) == m.keys(state));
            REQUIRE(count == m.keys(state).size());
        }
    }

    store_driver d;
    model m{4, 12};
    std::mt19937 rng;
    std::vector<std::string> held;
};

} // namespace

TEST_CASE("a store does what the model does") {
    const std::string kind = GENERATE(from_range(store_kind::all()));
    const unsigned seed = GENERATE(1U, 2U, 3U, 4U);
    CAPTURE(kind, seed);
    random_run run(kind, seed);
    // Every call to a database waits for it.
    const int steps = kind == "postgres" ? 200 : 400;
    for (int i = 0; i < steps; ++i) {
        CAPTURE(i);
        run.step();
    }
    run.m.pass(run.d.now);
    run.compare();
}
