#include "jobs/store.hpp"

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "store_driver.hpp"

// What every store does. Each case runs for each of them.

using namespace jobs;

namespace {

using keys = std::vector<std::string>;

keys taken_keys(const std::vector<taken_job>& jobs) {
    keys result;
    for (const taken_job& job : jobs)
        result.push_back(job.key);
    return result;
}

} // namespace

TEST_CASE("a job is there once, queued or in progress") {
    store_driver d(each_kind());
    const add_result first = d.add("k");
    CHECK(first.outcome == add_outcome::added);
    const add_result again = d.add("k");
    CHECK(again.outcome == add_outcome::duplicate);
    CHECK(again.id == first.id);
    CHECK(again.state == job_state::queued);
    const std::string lease = d.lease();
    CHECK(d.add("k").state == job_state::in_progress);
    CHECK(d.ack({lease}).acked == 1);
    CHECK(d.add("k").outcome == add_outcome::added);
    CHECK(d.counts().duplicates == 2);
    CHECK(d.counts().added == 2);
}

TEST_CASE("the same key may be in two queues") {
    store_driver d(each_kind());
    CHECK(d.add("k").outcome == add_outcome::added);
    d.queue = "other";
    CHECK(d.add("k").outcome == add_outcome::added);
    CHECK(d.wait(d.store().queues({}, d.now)).queues.size() == 2);
}

TEST_CASE("jobs are taken by priority, and within one first come first served") {
    store_driver d(each_kind());
    for (int i = 0; i < 6; ++i)
        d.add(std::to_string(i), 0, i % 3 == 0 ? 9 : i % 3);
    CHECK(d.queued() == keys{"0", "3", "2", "5", "1", "4"});
    CHECK(taken_keys(d.take(4)) == keys{"0", "3", "2", "5"});
    CHECK(taken_keys(d.take(4)) == keys{"1", "4"});
    CHECK(d.take(4).empty());
}

TEST_CASE("consumers of one call are served in their order") {
    store_driver d(each_kind());
    for (const char* key : {"1", "2", "3", "4"})
        d.add(key);
    const auto got = d.wait(d.store().take(d.queue, {{2, 0}, {1, 0}, {5, 0}, {1, 0}}, d.now));
    REQUIRE(got.size() == 4);
    CHECK(taken_keys(got[0]) == keys{"1", "2"});
    CHECK(taken_keys(got[1]) == keys{"3"});
    CHECK(taken_keys(got[2]) == keys{"4"});
    CHECK(got[3].empty());
}

TEST_CASE("what is given back has its old place and one attempt more") {
    store_driver d(each_kind());
    for (const char* key : {"1", "2", "3"})
        d.add(key);
    const std::vector<taken_job> jobs = d.take(2);
    CHECK(jobs[0].attempt == 1);
    CHECK(jobs[0].payload == "\"1\"");
    CHECK(d.retry(jobs[1].lease_id).retried == 1);
    CHECK(d.retry(jobs[0].lease_id).retried == 1);
    const std::vector<taken_job> again = d.take(3);
    CHECK(taken_keys(again) == keys{"1", "2", "3"});
    CHECK(again[0].attempt == 2);
    CHECK(again[2].attempt == 1);
    CHECK(again[0].lease_id != jobs[0].lease_id);
    CHECK(d.counts().failures == 2);
}

TEST_CASE("a lease that is stale, unknown or of another queue is lost") {
    store_driver d(each_kind());
    d.add("k");
    const std::string stale = d.lease();
    d.retry(stale);
    const std::string lease = d.lease();
    CHECK(d.ack({stale, "nonsense", ""}).lost == keys{stale, "nonsense", ""});
    d.queue = "other";
    d.add("x");
    CHECK(d.ack({lease}).lost == keys{lease});
    d.queue = "q";
    CHECK(d.ack({lease, lease}).lost == keys{lease});
    CHECK(d.counts().completed == 1);
}

TEST_CASE("leases end at their time, not before") {
    store_driver d(each_kind(), {.lease_ms = 1'000});
    d.add("1");
    d.add("2");
    const auto first = d.take(1);
    CHECK(first[0].lease_expires_at == d.now + 1'000);
    const auto second = d.take(1, 5'000);
    CHECK(d.wait(d.store().pass_time(d.now)) == d.now + 1'001);
    d.now += 1'000;
    CHECK(d.in_progress() == keys{"1", "2"});
    d.now += 1;
    CHECK(d.ack({first[0].lease_id}).lost.size() == 1);
    CHECK(d.queued() == keys{"1"});
    CHECK(d.counts().expired == 1);
    CHECK(d.take(1)[0].attempt == 2);
    CHECK(d.ack({second[0].lease_id}).acked == 1);
}

TEST_CASE("leases can be extended") {
    store_driver d(each_kind(), {.lease_ms = 1'000});
    d.add("1");
    const std::string lease = d.lease();
    d.now += 900;
    const extend_result longer =
        d.wait(d.store().extend(d.queue, {lease, "nonsense"}, 3'000, d.now));
    REQUIRE(longer.leases.size() == 1);
    CHECK(longer.leases[0].expires_at == d.now + 3'000);
    CHECK(longer.lost == keys{"nonsense"});
    d.now += 3'000;
    CHECK(d.in_progress() == keys{"1"});
    CHECK(d.wait(d.store().pass_time(d.now)) == d.now + 1);
    d.now += 1;
    CHECK(d.wait(d.store().extend(d.queue, {lease}, 0, d.now)).lost == keys{lease});
}

TEST_CASE("delayed jobs are not taken before their time") {
    store_driver d(each_kind());
    CHECK(d.add("late", 500).state == job_state::delayed);
    d.add("soon");
    CHECK(d.add("late").state == job_state::delayed);
    CHECK(d.counts().delayed == 1);
    CHECK(taken_keys(d.take(5)) == keys{"soon"});
    CHECK(d.wait(d.store().pass_time(d.now)) == d.now + 501);
    d.now += 500;
    CHECK(d.take(5).empty());
    d.now += 1;
    CHECK(taken_keys(d.take(5)) == keys{"late"});
}

TEST_CASE("a retry may be delayed, and say why") {
    store_driver d(each_kind());
    const std::uint64_t id = d.add("k").id;
    d.retry(d.lease(), 1'000, "no route");
    CHECK(d.keys(job_state::delayed) == keys{"k"});
    const auto job = d.wait(d.store().find(d.queue, id, d.now));
    REQUIRE(job);
    CHECK(job->error == "no route");
    CHECK(job->due_at == d.now + 1'000);
    d.now += 1'001;
    CHECK(d.take()[0].attempt == 2);
}

TEST_CASE("what fails too often dies, and can be revived") {
    store_driver d(each_kind(), {.lease_ms = 1'000});
    d.configure({.max_attempts = 2});
    const std::uint64_t id = d.add("k").id;
    d.retry(d.lease());
    (void)d.take();
    d.now += 1'001; // an expiry is a failure, too
    CHECK(d.keys(job_state::dead) == keys{"k"});
    CHECK(d.counts().dead == 1);
    CHECK(d.take().empty());
    const auto revive = [&](std::uint64_t dead) {
        return d.wait(d.store().retry_dead(d.queue, dead, d.now));
    };
    CHECK(revive(id + 1).outcome == revive_outcome::unknown);
    const add_result other = d.add("k"); // the dead hold no key
    CHECK(other.outcome == add_outcome::added);
    (void)d.take();
    const revive_result refused = revive(id);
    CHECK(refused.outcome == revive_outcome::duplicate);
    CHECK(refused.id == other.id);
    CHECK(refused.state == job_state::in_progress);
    CHECK(d.wait(d.store().remove(d.queue, other.id, d.now)));
    CHECK(revive(id).outcome == revive_outcome::revived);
    const auto jobs = d.take();
    CHECK(jobs.at(0).id == id);
    CHECK(jobs.at(0).attempt == 1);
}

TEST_CASE("jobs that reached nobody go back") {
    store_driver d(each_kind());
    d.add("1");
    d.add("2");
    const auto jobs = d.take(2);
    d.store().put_back(d.queue, {jobs[0].lease_id}, false, d.now);
    d.store().put_back(d.queue, {jobs[1].lease_id, "nonsense"}, true, d.now);
    const auto again = d.take(2);
    REQUIRE(taken_keys(again) == keys{"1", "2"});
    CHECK(again[0].attempt == 1);
    CHECK(again[1].attempt == 2);
}

TEST_CASE("a queue that is paused gives none") {
    store_driver d(each_kind());
    d.add("1");
    CHECK(d.wait(d.store().pause(d.queue, true, d.now)));
    CHECK(d.take().empty());
    CHECK(d.add("2").outcome == add_outcome::added);
    CHECK(d.wait(d.store().pause(d.queue, false, d.now)));
    CHECK(taken_keys(d.take(5)) == keys{"1", "2"});
}

TEST_CASE("a full queue takes no more, and a queue's payloads are bounded") {
    store_driver d(each_kind(), {.jobs_max = 2});
    d.add("1");
    d.add("2", 1'000);
    CHECK(d.add("3").outcome == add_outcome::full);
    CHECK(d.add("1").outcome == add_outcome::duplicate);
    const std::string lease = d.lease();
    CHECK(d.add("3").outcome == add_outcome::full);
    d.ack({lease});
    CHECK(d.add("3").outcome == add_outcome::added);
    d.configure({.max_jobs = 3, .payload_bytes_max = 4});
    CHECK(d.add("fifth").outcome == add_outcome::too_large);
    CHECK(d.add("four").outcome == add_outcome::added);
    CHECK(d.add("5").outcome == add_outcome::full);
}

TEST_CASE("what jobs take up in memory is bounded") {
    store_driver d("memory", {.memory_bytes_max = 10'000});
    const auto fill = [&d] {
        std::size_t added = 0;
        while (d.add(std::to_string(added)).outcome == add_outcome::added)
            ++added;
        return added;
    };
    const std::size_t first = fill();
    CHECK(first > 10);
    CHECK(first < 40);
    d.queue = "another";
    CHECK(d.add("1").outcome == add_outcome::full);
    d.queue = "q";
    CHECK(d.add("0").outcome == add_outcome::duplicate);
    d.ack({d.lease()});
    CHECK(d.add("one more").outcome == add_outcome::added);
    CHECK(d.add("and another").outcome == add_outcome::full);
    d.wait(d.store().settle(d.queue, {}, {{d.lease(), 0, std::string(9'000, 'e')}}, d.now));
    while (!d.take(100).empty()) {
    }
    CHECK(d.add("x").outcome == add_outcome::full); // in progress counts
    d.wait(d.store().remove(d.queue, 2, d.now));
    CHECK(d.wait(d.store().purge(d.queue, d.now)) == 0);
    d.now += 60'000;
    CHECK(d.wait(d.store().purge(d.queue, d.now)) > 0);
    CHECK(fill() == first); // nothing is left over
}

TEST_CASE("queues are bounded, and unused ones make room") {
    store_driver d(each_kind(), {.queues_max = 2});
    d.queue = "a";
    const auto id = d.add("1").id;
    d.queue = "b";
    d.add("1");
    d.queue = "c";
    CHECK(d.add("1").outcome == add_outcome::too_many_queues);
    CHECK_FALSE(d.wait(d.store().pause(d.queue, true, d.now)));
    CHECK(d.wait(d.store().remove("a", id, d.now)));
    CHECK(d.add("1").outcome == add_outcome::added);
    CHECK_FALSE(d.wait(d.store().describe("a", d.now)));
}

TEST_CASE("keys and payloads are any UTF-8") {
    store_driver d(each_kind());
    const std::string key = "schlüssel 鍵 \x01 ' \" % \\";
    d.add(key);
    CHECK(d.add(key).outcome == add_outcome::duplicate);
    const auto jobs = d.take();
    CHECK(jobs.at(0).key == key);
    CHECK(jobs.at(0).payload == '"' + key + '"');
}

TEST_CASE("many jobs are added as one step") {
    store_driver d(each_kind());
    std::vector<new_job> many;
    for (int i = 0; i < 2'000; ++i)
        many.push_back({std::to_string(i % 1'500), "0"});
    const auto results = d.wait(d.store().add(d.queue, std::move(many), std::nullopt, d.now));
    REQUIRE(results.size() == 2'000);
    CHECK(results[1'499].outcome == add_outcome::added);
    CHECK(results[1'500].id == results[0].id);
    CHECK(d.counts().queued == 1'500);
    CHECK(d.counts().duplicates == 500);
}

TEST_CASE("what is given to one consumer at once is bounded") {
    store_driver d(each_kind(), {.take_bytes_max = 10});
    for (const char* key : {"aaa", "bbb", "ccc"})
        d.add(key); // payloads of five bytes
    CHECK(taken_keys(d.take(3)) == keys{"aaa", "bbb"});
    CHECK(taken_keys(d.take(3)) == keys{"ccc"});
}

TEST_CASE("changes are told in their order") {
    struct listener final : store_listener {
        void changed(std::span<const change> what) noexcept override {
            for (const change& each : what)
                kinds.push_back(each.kind);
        }
        std::vector<change_kind> kinds;
    } heard;
    store_driver d(each_kind());
    d.store().listen(&heard);
    d.add("1", 100);
    d.now += 101;
    d.retry(d.lease());
    d.ack({d.lease()});
    CHECK(heard.kinds == std::vector{change_kind::added, change_kind::due, change_kind::taken,
                                     change_kind::retried, change_kind::taken,
                                     change_kind::completed});
    d.store().listen(nullptr);
}

TEST_CASE("what lasts is there again after a restart") {
    store_driver d(each_kind(), {.lease_ms = 1'000});
    if (!d.lasts())
        SKIP("this store ends with the program");
    d.configure({.max_jobs = 50, .max_attempts = 3, .lease_ms = 2'000, .payload_bytes_max = 99});
    d.add("done");
    d.ack({d.lease()});
    d.add("1");
    d.add("2", 0, 9);
    d.add("late", 5'000);
    const idempotency token{"t", 1};
    const auto tried = d.add("tried", 0, 0, token);
    const std::string lease = d.lease();
    const queue_counts before = d.counts();
    d.reopen();
    CHECK(d.counts() == before);
    CHECK(d.wait(d.store().describe(d.queue, d.now))->settings ==
          queue_settings{50, 3, 2'000, 99, false});
    CHECK(d.queued() == keys{"1", "tried"});
    CHECK(d.in_progress() == keys{"2"});
    CHECK(d.keys(job_state::delayed) == keys{"late"});
    CHECK(d.add("tried", 0, 0, token).id == tried.id);
    CHECK(d.wait(d.store().pass_time(d.now)) == d.now + 2'001);
    SECTION("leases go on") { CHECK(d.ack({lease}).acked == 1); }
    SECTION("or end") {
        d.now += 2'001;
        CHECK(d.ack({lease}).lost.size() == 1);
        CHECK(d.queued() == keys{"2", "1", "tried"});
    }
    const auto next = d.add("next");
    CHECK(next.id > tried.id); // ids are not used again
}
