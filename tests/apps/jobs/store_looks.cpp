#include "jobs/store.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/task_group.hpp>

#include "jobs/rules/ledger.hpp"
#include "store_driver.hpp"

// What every store shows, and what it remembers. Each case runs for each of them.

using namespace jobs;

namespace {

using keys = std::vector<std::string>;

} // namespace

TEST_CASE("purging leaves what is in progress") {
    store_driver d(each_kind());
    d.add("1");
    d.add("2");
    d.add("3", 1'000);
    const std::string lease = d.lease();
    CHECK(d.wait(d.store().purge(d.queue, d.now)) == 2);
    CHECK(d.in_progress() == keys{"1"});
    CHECK(d.counts().queued + d.counts().delayed == 0);
    CHECK(d.add("2").outcome == add_outcome::added);
    CHECK(d.ack({lease}).acked == 1);
    CHECK(d.wait(d.store().purge("unknown", d.now)) == 0);
}

namespace {

rota::task<void> add_to(store* to, std::string queue, std::size_t count, time_ms now, bool* done) {
    std::vector<new_job> jobs;
    for (std::size_t i = 0; i < count; ++i)
        jobs.push_back({std::to_string(i), "1"});
    rota::task<std::vector<add_result>> adding =
        to->add(std::move(queue), std::move(jobs), std::nullopt, now);
    (void)co_await std::move(adding);
    *done = true;
}

rota::task<void> purge(store* of, time_ms now, const bool* added, bool* added_before) {
    rota::task<std::uint64_t> purging = of->purge("q", now);
    const std::uint64_t purged = co_await std::move(purging);
    *added_before = *added && purged == 3 * purged_at_once;
}

rota::task<void> add_and_stop(store* to, time_ms now, bool* added, rota::task_group* stop) {
    rota::task<void> adding = add_to(to, "another", 1, now, added);
    co_await std::move(adding);
    if (stop != nullptr)
        stop->request_stop();
}

/// Purges "q" while another adds to another queue; true if that is answered before. With `stop` the
/// purge is then asked to stop.
rota::task<bool> purge_while_adding(store* of, time_ms now, bool stop) {
    bool added = false;
    bool added_before = false;
    rota::task_group both(co_await rota::current_context);
    both.spawn(purge(of, now, &added, &added_before));
    both.spawn(add_and_stop(of, now, &added, stop ? &both : nullptr));
    co_await both.join();
    co_return added_before;
}

} // namespace

TEST_CASE("others are served between the steps of a purge") {
    store_driver d(each_kind());
    bool added = false;
    d.wait(add_to(&d.store(), "q", 3 * purged_at_once, d.now, &added));
    CHECK(d.wait(purge_while_adding(&d.store(), d.now, false)));
    CHECK(d.counts().queued == 0);
}

TEST_CASE("a purge that is not ended has removed what it says nothing of") {
    store_driver d(each_kind());
    bool added = false;
    d.wait(add_to(&d.store(), "q", 3 * purged_at_once, d.now, &added));
    (void)d.wait(purge_while_adding(&d.store(), d.now, true));
    const std::uint64_t left = d.counts().queued;
    if (d.lasts())
        d.reopen();
    CHECK(d.counts().queued == left);
    list_request all;
    all.limit = 3 * purged_at_once;
    CHECK(d.wait(d.store().list("q", all, d.now)).jobs.size() == left);
    CHECK(d.wait(d.store().purge("q", d.now)) == left);
}

TEST_CASE("queues are told in pages, by the bytes of their names") {
    store_driver d(each_kind());
    for (const char* const name : {"b", "A", "a", "C", "_"}) {
        d.queue = name;
        d.add("1");
    }
    d.queue = "q";
    std::vector<std::string> names;
    queues_request what;
    what.limit = 2;
    for (bool more = true; more;) {
        const queue_list page = d.wait(d.store().queues(what, d.now));
        CHECK(page.queues.size() <= 2);
        for (const queue_info& each : page.queues) {
            names.push_back(each.name);
            CHECK(each.counts.queued == 1);
            CHECK(each.oldest == d.now);
        }
        more = page.more;
        what.after = names.back();
    }
    CHECK(names == keys{"A", "C", "_", "a", "b"});
    what = {"b", 2};
    CHECK(d.wait(d.store().queues(what, d.now)).queues.empty());
    what = {"", 5};
    CHECK_FALSE(d.wait(d.store().queues(what, d.now)).more);
}

TEST_CASE("what sets a queue tells how it is then") {
    store_driver d(each_kind());
    d.add("1");
    d.add("2");
    const std::string lease = d.lease();
    const auto paused = d.wait(d.store().pause(d.queue, true, d.now));
    REQUIRE(paused);
    CHECK(paused->name == d.queue);
    CHECK(paused->settings == queue_settings{.paused = true});
    CHECK(paused->counts == d.counts());
    CHECK(paused->counts.queued == 1);
    CHECK(paused->oldest == d.now);
    d.now += 40'000; // the lease has ended
    const queue_settings set{.max_jobs = 7, .lease_ms = 1'000};
    const auto configured = d.wait(d.store().configure(d.queue, set, d.now));
    REQUIRE(configured);
    CHECK(configured->settings == set);
    CHECK(configured->counts.queued == 2);
    CHECK(configured->counts == d.counts());
    d.queue = "new";
    const auto made = d.wait(d.store().pause(d.queue, false, d.now));
    REQUIRE(made);
    CHECK(made->counts == queue_counts{});
    CHECK_FALSE(made->oldest);
}

TEST_CASE("queues tell since when their oldest job is queued") {
    store_driver d(each_kind());
    const auto oldest = [&d] {
        std::vector<std::optional<time_ms>> each;
        for (const queue_info& queue : d.wait(d.store().queues({}, d.now)).queues) {
            each.push_back(queue.oldest);
            CHECK(d.wait(d.store().describe(queue.name, d.now))->oldest == queue.oldest);
        }
        return each;
    };
    using times = std::vector<std::optional<time_ms>>;
    const time_ms first = d.now;
    d.add("1");
    d.now += 5;
    d.add("2", 0, 9);
    const std::string named = std::exchange(d.queue, d.queue + "-later");
    d.add("1", 0, 3);
    CHECK(oldest() == times{first, first + 5});
    d.queue = named;
    (void)d.take(); // "2"
    d.add("3", 1'000);
    CHECK(oldest() == times{first, first + 5});
    (void)d.take();
    CHECK(oldest() == times{std::nullopt, first + 5});
}

TEST_CASE("one job can be looked at and removed") {
    store_driver d(each_kind());
    const auto id = d.add("k", 0, 7).id;
    d.add("k");
    d.now += 30;
    auto job = d.wait(d.store().find(d.queue, id, d.now));
    REQUIRE(job);
    CHECK(job->key == "k");
    CHECK(job->priority == 7);
    CHECK(job->duplicates == 1);
    CHECK(job->queued_ms == 30);
    const std::string lease = d.lease();
    d.now += 20;
    job = d.wait(d.store().find(d.queue, id, d.now));
    CHECK(job->state == job_state::in_progress);
    CHECK(job->in_progress_ms == 20);
    CHECK(d.wait(d.store().remove(d.queue, id, d.now)));
    CHECK_FALSE(d.wait(d.store().remove(d.queue, id, d.now)));
    CHECK_FALSE(d.wait(d.store().find(d.queue, id, d.now)));
    CHECK(d.ack({lease}).lost.size() == 1);
    CHECK(d.counts().in_progress == 0);
}

TEST_CASE("lists go on from where they ended, whatever has happened") {
    store_driver d(each_kind());
    for (int i = 0; i < 5; ++i)
        d.add(std::to_string(i), 0, i == 4 ? 9 : 0);
    list_request what;
    what.limit = 2;
    job_list page = d.wait(d.store().list(d.queue, what, d.now));
    REQUIRE(page.jobs.size() == 2);
    CHECK(page.more);
    CHECK(page.jobs[0].key == "4");
    CHECK(page.jobs[1].key == "0");
    what.after = {static_cast<std::uint8_t>(priority_max - page.jobs[1].priority), page.jobs[1].id};
    d.ack({d.take(3)[1].lease_id}); // "4", "0" and "1" are queued no more
    d.add("later", 0, 9);           // before the place of the cursor
    d.add("5");
    page = d.wait(d.store().list(d.queue, what, d.now));
    REQUIRE(page.jobs.size() == 2);
    CHECK(page.jobs[0].key == "2");
    CHECK(page.jobs[1].key == "3");
    CHECK(page.more);
}

TEST_CASE("the oldest is told, of whatever priority") {
    store_driver d(each_kind());
    const time_ms begin = d.now;
    d.add("low");
    d.now += 10;
    d.add("high", 0, 9);
    CHECK(d.wait(d.store().describe(d.queue, d.now))->oldest == begin);
    (void)d.take(2);
    CHECK_FALSE(d.wait(d.store().describe(d.queue, d.now))->oldest);
}

TEST_CASE("the same try is made once") {
    store_driver d(each_kind(), {.token_kept_ms = 1'000});
    const idempotency token{"try", 7};
    const add_result first = d.add("k", 0, 0, token);
    CHECK(first.outcome == add_outcome::added);
    CHECK(d.add("k", 0, 0, token).outcome == add_outcome::replayed);
    d.ack({d.lease()});
    const add_result again = d.add("k", 0, 0, token);
    CHECK(again.outcome == add_outcome::replayed);
    CHECK(again.id == first.id);
    CHECK(d.add("k", 0, 0, idempotency{"try", 8}).outcome == add_outcome::mismatched);
    CHECK(d.queued().empty());
    d.now += 1'000;
    CHECK(d.add("k", 0, 0, token).outcome == add_outcome::added);
}

TEST_CASE("tokens are bounded, the oldest go first") {
    store_driver d(each_kind(), {.tokens_max = 2});
    for (int i = 0; i < 4; ++i) {
        d.add(std::to_string(i), 0, 0, idempotency{std::to_string(i), 0});
        ++d.now;
    }
    CHECK(d.add("0", 0, 0, idempotency{"0", 0}).outcome == add_outcome::duplicate);
    CHECK(d.add("3", 0, 0, idempotency{"3", 0}).outcome == add_outcome::replayed);
}
