#include "jobs/store.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "store_driver.hpp"

// What becomes of jobs that fail again and again, and of queues that are removed, and who holds a
// key. Each case runs for each store.

using namespace jobs;

namespace {

using keys = std::vector<std::string>;

job_info the_job(store_driver& d, std::uint64_t id) {
    const auto job = d.wait(d.store().find(d.queue, id, d.now));
    REQUIRE(job);
    return *job;
}

/// Fails it once more: how long it waits then.
std::int64_t fail(store_driver& d, std::uint64_t id) {
    d.retry(d.lease());
    const job_info job = the_job(d, id);
    CHECK(job.cause == job_cause::failed);
    const bool waits = job.state == job_state::delayed;
    CHECK(waits == (job.due_at != 0));
    return waits ? job.due_at - d.now : 0;
}

} // namespace

TEST_CASE("from its third failure in a row on a job waits, and others are served") {
    store_driver d(each_kind());
    const std::uint64_t id = d.add("poison").id;
    d.add("behind");
    CHECK(fail(d, id) == 0);
    CHECK(fail(d, id) == 0);
    const std::int64_t third = fail(d, id);
    CHECK(third >= 50);
    CHECK(third <= 100);
    CHECK(d.queued() == keys{"behind"});
    CHECK(d.keys(job_state::delayed) == keys{"poison"});
    CHECK(d.counts().delayed == 1);
    d.now += third;
    CHECK(d.queued() == keys{"behind"}); // not before its time
    d.now += 1;
    CHECK(d.queued() == keys{"poison", "behind"}); // its old place
    const std::int64_t fourth = fail(d, id);
    CHECK(fourth >= 100);
    CHECK(fourth <= 200);
    CHECK(d.wait(d.store().pass_time(d.now)) == d.now + fourth + 1);
    CHECK(the_job(d, id).attempts == 4);
}

TEST_CASE("a lease that ends and a consumer that has gone count as failures") {
    store_driver d(each_kind(), {.lease_ms = 10});
    d.configure({.backoff = {.after = 0, .initial_ms = 1'000}});
    const std::uint64_t id = d.add("k").id;
    (void)d.take();
    d.now += 11;
    job_info job = the_job(d, id);
    CHECK(job.state == job_state::delayed);
    CHECK(job.cause == job_cause::lease_ended);
    CHECK(job.due_at >= d.now + 500);
    d.now = job.due_at + 1;
    d.store().put_back(d.queue, {d.lease()}, true, d.now);
    job = the_job(d, id);
    CHECK(job.cause == job_cause::abandoned);
    CHECK(job.due_at >= d.now + 1'000);
    d.now = job.due_at + 1;
    d.store().put_back(d.queue, {d.lease()}, false, d.now); // not an attempt
    CHECK(the_job(d, id).state == job_state::queued);
}

TEST_CASE("a delay that is said is kept to, also if it is none") {
    store_driver d(each_kind());
    d.configure({.backoff = {.after = 0, .initial_ms = 60'000}});
    const std::uint64_t id = d.add("k").id;
    d.retry(d.lease(), 0);
    CHECK(the_job(d, id).state == job_state::queued);
    d.retry(d.lease(), 5);
    CHECK(the_job(d, id).due_at == d.now + 5);
}

TEST_CASE("failures are counted anew once a job is done, or has been revived") {
    store_driver d(each_kind());
    d.configure({.max_attempts = 4});
    std::uint64_t id = d.add("k").id;
    for (int i = 0; i < 2; ++i)
        CHECK(fail(d, id) == 0);
    d.ack({d.lease()});
    id = d.add("k").id;
    CHECK(fail(d, id) == 0);
    CHECK(fail(d, id) == 0);
    d.now += fail(d, id) + 1;
    CHECK(fail(d, id) == 0);
    REQUIRE(the_job(d, id).state == job_state::dead); // and not delayed
    CHECK(d.wait(d.store().retry_dead(d.queue, id, d.now)).outcome == revive_outcome::revived);
    CHECK(fail(d, id) == 0);
    CHECK(fail(d, id) == 0);
    CHECK(fail(d, id) > 0);
}

TEST_CASE("waits and what queues are set to are there again after a restart") {
    store_driver d(each_kind());
    if (!d.lasts())
        SKIP("this store ends with the program");
    const queue_settings set{
        .backoff = {.after = 0, .initial_ms = 0, .factor_milli = 1'500, .max_ms = 700}};
    d.configure(set);
    d.queue = "other";
    d.configure({.backoff = {.after = 0, .initial_ms = 5'000}});
    const std::uint64_t id = d.add("k").id;
    const std::int64_t wait = fail(d, id);
    CHECK(wait >= 2'500);
    d.reopen();
    CHECK(d.wait(d.store().describe("q", d.now))->settings == set);
    CHECK(the_job(d, id).due_at == d.now + wait);
    d.now += wait + 1;
    CHECK(d.take().at(0).attempt == 2);
    d.configure({});
    CHECK(d.wait(d.store().describe(d.queue, d.now))->settings == queue_settings{});
}

TEST_CASE("a key finds who holds it, and the dead that held it") {
    store_driver d(each_kind());
    d.configure({.max_attempts = 1});
    const auto ids = [&d](std::size_t limit) {
        std::vector<std::uint64_t> found;
        for (const job_info& job : d.wait(d.store().find_key(d.queue, "k", limit, d.now)).jobs) {
            CHECK(job.key == "k");
            CHECK(job.payload == "\"k\"");
            found.push_back(job.id);
        }
        return found;
    };
    using numbers = std::vector<std::uint64_t>;
    CHECK(ids(9).empty());
    const std::uint64_t first = d.add("k").id;
    d.add("kk");
    CHECK(ids(9) == numbers{first});
    d.retry(d.lease());
    CHECK(ids(9) == numbers{first});
    const std::uint64_t second = d.add("k", 0, 9).id;
    d.retry(d.lease());
    const std::uint64_t third = d.add("k", 60'000).id;
    CHECK(ids(9) == numbers{third, second, first});
    CHECK(ids(2) == numbers{third, second});
    d.wait(d.store().remove(d.queue, second, d.now));
    CHECK(ids(9) == numbers{third, first});
    d.queue = "unknown";
    CHECK(ids(9).empty());
}

TEST_CASE("a queue is removed with its jobs and settings") {
    store_driver d(each_kind());
    const auto removed = [&d](bool forced = false) {
        removed_queue result{.more = true};
        while (result.more)
            result = d.wait(d.store().remove_queue(d.queue, forced, d.now, result.queue));
        if (result.outcome == removal::removed)
            CHECK_FALSE(d.wait(d.store().describe(d.queue, d.now)));
        return result.outcome;
    };
    CHECK(removed() == removal::unknown);
    d.configure({.max_attempts = 1});
    d.add("dead");
    d.retry(d.lease());
    d.add("queued", 0, 9);
    d.add("late", 1'000);
    SECTION("without jobs in progress") {
        const idempotency token{"t", 1};
        d.add("token", 0, 0, token);
        CHECK(removed() == removal::removed);
        CHECK(removed() == removal::unknown);
        CHECK(d.add("token", 0, 0, token).outcome == add_outcome::added); // nothing is remembered
    }
    SECTION("with jobs in progress only by force") {
        const std::string lease = d.lease();
        CHECK(removed() == removal::in_progress);
        CHECK(d.keys(job_state::dead) == keys{"dead"});
        CHECK_FALSE(d.wait(d.store().describe(d.queue, d.now))->settings.paused);
        CHECK(removed(true) == removal::removed);
        CHECK(d.ack({lease}).lost == keys{lease});
    }
    SECTION("slice by slice, and nothing is taken between two") {
        std::vector<new_job> many;
        for (std::size_t i = 0; i < 2 * removed_at_once; ++i)
            many.push_back({std::to_string(i), "0"});
        (void)d.wait(d.store().add(d.queue, std::move(many), std::nullopt, d.now));
        CHECK(d.wait(d.store().remove_queue(d.queue, false, d.now)).more);
        CHECK(d.take().empty());
        CHECK(removed() == removal::removed);
    }
    d.configure({});
    if (d.lasts())
        d.reopen();
    CHECK(d.keys(job_state::dead).empty());
    CHECK(d.add("queued").outcome == add_outcome::added);
    CHECK(d.counts().failures == 0);
    CHECK(d.counts().queued + d.counts().in_progress <= 2);
}

TEST_CASE("what goes on in slices leaves a queue that was made anew meanwhile") {
    store_driver d(each_kind());
    const auto fill = [&d] {
        d.configure({.max_attempts = 1});
        std::vector<new_job> many;
        for (std::size_t i = 0; i <= removed_at_once; ++i)
            many.push_back({std::to_string(i), "0"});
        (void)d.wait(d.store().add(d.queue, std::move(many), std::nullopt, d.now));
        for (int i = 0; i < 2; ++i)
            d.retry(d.lease());
    };
    fill();
    dead_request of_dead;
    of_dead.action = dead_action::remove;
    of_dead.limit = 1;
    const dead_result first = d.wait(d.store().settle_dead(d.queue, of_dead, d.now));
    CHECK(first.done == 1);
    CHECK(first.more);
    const removed_queue begun = d.wait(d.store().remove_queue(d.queue, false, d.now));
    CHECK(begun.more);
    CHECK(begun.queue == first.queue);
    const auto by_another = [&d] { return d.wait(d.store().remove_queue(d.queue, true, d.now)); };
    while (by_another().more) {
    }
    const auto ends = [&] {
        of_dead.after = first.after;
        of_dead.queue = first.queue;
        const dead_result rest = d.wait(d.store().settle_dead(d.queue, of_dead, d.now));
        CHECK(rest.done == 0);
        CHECK_FALSE(rest.more);
        const removed_queue result =
            d.wait(d.store().remove_queue(d.queue, false, d.now, begun.queue));
        CHECK(result.outcome == removal::removed);
        CHECK_FALSE(result.more);
        CHECK(result.jobs == 0);
    };
    ends();
    fill();
    ends();
    CHECK(d.counts().queued == removed_at_once - 1);
    CHECK(d.counts().dead == 2);
    CHECK_FALSE(d.wait(d.store().describe(d.queue, d.now))->settings.paused);
}
