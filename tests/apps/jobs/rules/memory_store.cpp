// The queues in memory when there is no memory: a step is done wholly or not at all.

#include "jobs/rules/memory_store.hpp"

#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

#include "limited_memory.hpp"
#include "stores.hpp"

using namespace jobs;
using ::test::allocations_left;

namespace {

constexpr time_ms begin = 1'800'000'000'000;

store_limits few() {
    store_limits limits;
    limits.queues_max = 3;
    limits.tokens_max = 2;
    limits.lease_ms = 1'000;
    return limits;
}

/// A store, and what a client has of it.
class market final : store_listener {
public:
    market() { rows_.listen(this); }

    /// Does the step with room for so many allocations (below zero: for all); false if these were
    /// too few, and it has not been done.
    template <class Step>
    bool attempt(const Step& what, long allocations) {
        bool done = true;
        scheduler_.run_task(limited(what(*this), allocations, done));
        return done;
    }
    /// All that can be seen from outside, but for the ids of leases.
    std::vector<std::string> seen() {
        std::vector<std::string> result;
        scheduler_.run_task(look(result));
        return result;
    }
    store& rows() { return rows_; }

    time_ms now = begin;
    std::vector<std::string> leases{};
    std::vector<std::string> told{};

private:
    static rota::task<void> limited(rota::task<void> step, long allocations, bool& done) {
        allocations_left = allocations;
        try {
            co_await std::move(step);
        } catch (const std::bad_alloc&) {
            done = false;
        }
        allocations_left = -1;
    }

    rota::task<void> look(std::vector<std::string>& into) {
        const queues_request every;
        const queue_list all = co_await rows_.queues(every, now);
        for (const queue_info& queue : all.queues) {
            const queue_counts& c = queue.counts;
            std::string line = queue.name + (queue.settings.paused ? " paused" : "");
            for (const std::uint64_t count :
                 {c.queued, c.delayed, c.in_progress, c.dead, c.added, c.completed, c.failures,
                  c.expired, c.duplicates, static_cast<std::uint64_t>(queue.oldest.value_or(0))})
                line += ' ' + std::to_string(count);
            into.push_back(std::move(line));
            for (const job_state state :
                 {job_state::queued, job_state::delayed, job_state::in_progress, job_state::dead}) {
                list_request what;
                what.state = state;
                const job_list jobs = co_await rows_.list(queue.name, what, now);
                for (const job_info& job : jobs.jobs)
                    into.push_back("  " + std::to_string(job.id) + ' ' + job.key + ' ' +
                                   std::to_string(static_cast<int>(state)) + ' ' + job.payload +
                                   ' ' + std::to_string(job.attempts) + ' ' +
                                   std::to_string(job.due_at) + ' ' + job.error);
            }
        }
    }

    void changed(std::span<const change> what) noexcept override {
        const long left = std::exchange(allocations_left, -1);
        for (const change& each : what)
            told.push_back(std::to_string(static_cast<int>(each.kind)) + ' ' + *each.queue + ' ' +
                           std::to_string(each.id));
        allocations_left = left;
    }

    memory_store rows_{few(), numbered_leases{}};
    rota::inline_scheduler scheduler_;
};

using step = std::function<rota::task<void>(market&)>;

std::vector<new_job> jobs_named(const std::string& name, int count) {
    std::vector<new_job> jobs;
    for (int i = 0; i < count; ++i)
        jobs.push_back({name + std::to_string(i) + " is a key that is too long for a small string",
                        '"' + name + '"', i == 1 ? 500 : 0, i % 3});
    return jobs;
}

rota::task<void> add(market& to, std::string queue, std::string name, int count,
                     std::string token) {
    std::optional<idempotency> tried;
    if (!token.empty())
        tried = idempotency{std::move(token), 7};
    std::vector<new_job> named = jobs_named(name, count);
    (void)co_await to.rows().add(std::move(queue), std::move(named), std::move(tried), to.now);
}

rota::task<void> take(market& from, std::size_t count) {
    std::vector<take_request> wanted{{count, 0}};
    const auto taken = co_await from.rows().take("q", std::move(wanted), from.now);
    const long left = std::exchange(allocations_left, -1); // it is in force
    from.leases.clear();
    for (const taken_job& job : taken.at(0))
        from.leases.push_back(job.lease_id);
    allocations_left = left;
}

rota::task<void> settle(market& of) {
    std::vector<std::string> acks{of.leases.at(0)};
    std::vector<retry> retries;
    retries.push_back({of.leases.at(1), 300, "an error that is too long for a small string"});
    retries.push_back({of.leases.at(2), std::nullopt, ""});
    (void)co_await of.rows().settle("q", std::move(acks), std::move(retries), of.now);
}

rota::task<void> give_up_soon(market& of) {
    queue_settings to;
    to.max_attempts = 1;
    (void)co_await of.rows().configure("q", to, of.now);
}

rota::task<void> extend(market& of) {
    (void)co_await of.rows().extend("q", of.leases, 5'000, of.now);
}

rota::task<void> let_time_pass(market& of, time_ms until) {
    (void)co_await of.rows().pass_time(until);
    of.now = until;
}

rota::task<void> revive_first(market& of) {
    list_request what;
    what.state = job_state::dead;
    what.limit = 1;
    const job_list dead = co_await of.rows().list("q", what, of.now);
    (void)co_await of.rows().retry_dead("q", dead.jobs.at(0).id, of.now);
}

rota::task<void> remove_dead(market& of) {
    dead_request what;
    what.action = dead_action::remove;
    (void)co_await of.rows().settle_dead("q", what, of.now);
}

rota::task<void> purge(market& of) { (void)co_await of.rows().purge("q", of.now); }

rota::task<void> remove_queue(market& of) {
    (void)co_await of.rows().remove_queue("q", true, of.now);
}

/// One step of each kind, each with something to do.
std::vector<std::pair<const char*, step>> a_life() {
    return {
        {"add", [](market& m) { return add(m, "q", "a", 6, ""); }},
        {"add one, by a token", [](market& m) { return add(m, "q", "b", 1, "first"); }},
        {"add it again", [](market& m) { return add(m, "q", "b", 1, "first"); }},
        {"add what is there", [](market& m) { return add(m, "q", "a", 3, ""); }},
        {"take", [](market& m) { return take(m, 4); }},
        {"extend", extend},
        {"settle", settle},
        {"take again", [](market& m) { return take(m, 2); }},
        {"give up soon", give_up_soon},
        {"leases and delays end", [](market& m) { return let_time_pass(m, begin + 10'000); }},
        {"revive", revive_first},
        {"remove the dead", remove_dead},
        {"add to another", [](market& m) { return add(m, "second", "c", 2, "second"); }},
        {"drop a token", [](market& m) { return add(m, "third", "d", 1, "third"); }},
        {"use one again that has ended",
         [](market& m) {
             m.now = begin + 90'000'000;
             return add(m, "q", "e", 1, "first");
         }},
        {"purge", purge},
        {"add behind that", [](market& m) { return add(m, "q", "f", 4, ""); }},
        {"remove the queue", remove_queue},
        {"another takes its place", [](market& m) { return add(m, "fourth", "g", 1, "first"); }},
    };
}

} // namespace

TEST_CASE("a step that lacks memory has changed nothing, and can be done when there is some") {
    market lacking;
    market ample;
    for (const auto& [name, what] : a_life()) {
        CAPTURE(name);
        const std::vector<std::string> before = lacking.seen();
        const std::vector<std::string> told = lacking.told;
        long allocations = 0;
        // Each one fails in turn, the steps that look included.
        while (!lacking.attempt(what, allocations)) {
            CAPTURE(allocations);
            REQUIRE(lacking.seen() == before);
            REQUIRE(lacking.told == told);
            ++allocations;
            REQUIRE(allocations < 10'000);
        }
        CHECK(allocations != 0);
        REQUIRE(ample.attempt(what, -1));
        REQUIRE(lacking.seen() == ample.seen());
        REQUIRE(lacking.told == ample.told);
        REQUIRE(lacking.leases.size() == ample.leases.size());
    }
}

TEST_CASE("what has been given up for lack of memory is asked for again in the next step") {
    market m;
    REQUIRE(m.attempt([](market& to) { return add(to, "q", "a", 5, ""); }, -1));
    const std::vector<std::string> before = m.seen();
    // So few that neither the step nor the reading anew behind it can be done.
    for (int times = 0; times < 20; ++times)
        REQUIRE_FALSE(m.attempt([](market& from) { return take(from, 5); }, times % 3));
    CHECK(m.seen() == before);
    REQUIRE(m.attempt([](market& from) { return take(from, 5); }, -1));
    CHECK(m.leases.size() == 4); // one is delayed
}
