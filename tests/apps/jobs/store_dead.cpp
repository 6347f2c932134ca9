#include "jobs/store.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "store_driver.hpp"

// What becomes of the dead, in slices. Each case runs for each store.

using namespace jobs;

namespace {

using keys = std::vector<std::string>;

/// A store whose jobs die of their first failure.
struct mortal : store_driver {
    mortal() : store_driver(GENERATE(from_range(store_kind::all())), {.lease_ms = 1'000}) {
        configure({.max_attempts = 1});
    }
    std::uint64_t kill(const std::string& key, int priority = 0) {
        const std::uint64_t id = add(key, 0, priority).id;
        retry(lease());
        return id;
    }
    /// All that a request is about, slice by slice.
    dead_result settle(dead_request what) {
        dead_result sum;
        do {
            const dead_result slice = wait(store().settle_dead(queue, what, now));
            sum.done += slice.done;
            sum.duplicates += slice.duplicates;
            sum.more = slice.more;
            what.after = slice.after;
        } while (sum.more);
        return sum;
    }
    std::vector<std::string> dead() { return keys(job_state::dead); }
};

} // namespace

TEST_CASE("what a job has been asked for again is counted in its deaths and lives") {
    mortal d;
    const std::uint64_t id = d.add("k").id;
    const auto duplicates = [&] { return d.wait(d.store().find(d.queue, id, d.now))->duplicates; };
    const auto listed = [&](job_state state) {
        return d.wait(d.store().list(d.queue, {.state = state}, d.now)).jobs.at(0).duplicates;
    };
    d.add("k");
    const std::string lease = d.lease();
    d.add("k");
    CHECK(duplicates() == 2);
    CHECK(listed(job_state::in_progress) == 2);
    d.retry(lease);
    CHECK(duplicates() == 2);
    CHECK(listed(job_state::dead) == 2);
    CHECK(d.settle({}).done == 1);
    d.add("k");
    CHECK(duplicates() == 3);
    CHECK(d.wait(d.store().find_key(d.queue, "k", 9, d.now)).jobs.at(0).duplicates == 3);
    d.retry(d.lease());
    CHECK(duplicates() == 3);
}

TEST_CASE("the dead are revived slice by slice, but for those whose keys are there again") {
    mortal d;
    for (int i = 0; i < 7; ++i)
        d.kill(std::to_string(i), i % 2);
    d.kill("0"); // twice among the dead: one of them can live
    d.add("3", 60'000);
    const dead_result all = d.settle({.limit = 2});
    CHECK(all.done == 6);
    CHECK(all.duplicates == 2);
    CHECK(d.queued() == keys{"1", "5", "0", "2", "4", "6"});
    CHECK(d.dead() == keys{"3", "0"});
    CHECK(d.counts().dead == 2);
    CHECK(d.take()[0].attempt == 1);
}

TEST_CASE("the dead are removed slice by slice") {
    mortal d;
    for (int i = 0; i < 5; ++i)
        d.kill(std::to_string(i));
    d.add("lives");
    CHECK(d.settle({.action = dead_action::remove, .limit = 2}).done == 5);
    CHECK(d.dead().empty());
    CHECK(d.counts().dead == 0);
    CHECK(d.queued() == keys{"lives"});
    d.queue = "unknown";
    CHECK(d.settle({.action = dead_action::remove}).done == 0);
}

TEST_CASE("some of the dead can be meant: by id, by time, by cause") {
    mortal d;
    const std::uint64_t first = d.kill("first");
    d.add("expires");
    (void)d.take();
    d.now += 1'001;
    const std::uint64_t given_back = d.kill("given back");
    d.add("lost");
    d.store().put_back(d.queue, {d.lease()}, true, d.now);
    REQUIRE(d.dead() == keys{"first", "expires", "given back", "lost"});
    dead_request what{.action = dead_action::remove, .limit = 1};
    SECTION("by id, also what is not there or not dead") {
        const std::uint64_t lives = d.add("lives").id;
        what.ids = std::vector<std::uint64_t>{given_back, first, first, lives, 999'999};
        CHECK(d.settle(what).done == 2);
        CHECK(d.dead() == keys{"expires", "lost"});
        CHECK(d.queued() == keys{"lives"});
        what.ids->clear();
        CHECK(d.settle(what).done == 0);
    }
    SECTION("by id, again") {
        what.action = dead_action::revive;
        d.add("first");
        what.ids = std::vector<std::uint64_t>{given_back, first};
        const dead_result revived = d.settle(what);
        CHECK(revived.done == 1);
        CHECK(revived.duplicates == 1);
        CHECK(d.queued() == keys{"given back", "first"});
    }
    SECTION("by time") {
        what.before = d.now;
        CHECK(d.settle(what).done == 1);
        CHECK(d.dead() == keys{"expires", "given back", "lost"});
    }
    SECTION("by cause") {
        what.cause = job_cause::lease_ended;
        CHECK(d.settle(what).done == 1);
        CHECK(d.dead() == keys{"first", "given back", "lost"});
        what.cause = job_cause::abandoned;
        CHECK(d.settle(what).done == 1);
        what.before = d.now;
        what.cause = job_cause::failed;
        CHECK(d.settle(what).done == 1);
        CHECK(d.dead() == keys{"given back"});
    }
}

TEST_CASE("a job tells why it failed last, and since when, also after a restart") {
    mortal d;
    const std::uint64_t id = d.kill("k");
    const time_ms failed = d.now;
    d.now += 10;
    if (d.lasts())
        d.reopen();
    const auto job = d.wait(d.store().find(d.queue, id, d.now));
    REQUIRE(job);
    CHECK(job->cause == job_cause::failed);
    CHECK(job->since == failed);
    CHECK(d.wait(d.store().retry_dead(d.queue, id, d.now)).outcome == revive_outcome::revived);
    CHECK(d.wait(d.store().find(d.queue, id, d.now))->cause == job_cause::none);
}
