#include "jobs/rules/ledger.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "jobs/rules/memory_table.hpp"

using namespace jobs;

namespace {

constexpr time_ms now = 1'800'000'000'000;

std::vector<new_job> some_jobs(const std::string& name, std::size_t count, int priority,
                               std::int64_t delay_ms = 0) {
    std::vector<new_job> jobs;
    for (std::size_t i = 0; i < count; ++i)
        jobs.push_back({name + std::to_string(i), "1", delay_ms, priority});
    return jobs;
}

} // namespace

TEST_CASE("a purge is done in steps, and leaves what is added meanwhile") {
    memory_table rows;
    ledger rules(rows, {});
    const std::size_t each = purged_at_once;
    (void)rules.add("q", some_jobs("a", each / 2, 9), std::nullopt, now);
    (void)rules.add("q", some_jobs("b", each, 0), std::nullopt, now);
    (void)rules.add("q", some_jobs("c", each, 5, 1'000), std::nullopt, now);
    (void)rules.take("q", {{3, 0}}, now);
    purge_progress at;
    int steps = 0;
    std::uint64_t left = 0;
    do {
        const std::uint64_t before = at.purged;
        at = rules.purge("q", at, now);
        CHECK(at.purged - before <= each);
        const queue_counts counts = rules.describe("q", now)->counts;
        left = counts.queued + counts.delayed;
        if (++steps == 1) { // among those of each rank, and of one that had been passed
            (void)rules.add("q", some_jobs("new", 2, 9), std::nullopt, now);
            (void)rules.add("q", some_jobs("new too", 2, 0), std::nullopt, now);
            (void)rules.add("q", some_jobs("late", 2, 5, 1'000), std::nullopt, now);
        }
    } while (!at.done);
    CHECK(steps >= 3);
    CHECK(at.purged == 2 * each + each / 2 - 3);
    CHECK(left == 6);
    list_request all;
    all.limit = each;
    CHECK(rules.list("q", all, now).jobs.size() == 4);
    CHECK(rules.describe("q", now)->counts.in_progress == 3);
}

TEST_CASE("a purge leaves a queue that was made anew meanwhile") {
    memory_table rows;
    ledger rules(rows, {});
    (void)rules.add("another", some_jobs("a", 1, 0), std::nullopt, now);
    (void)rules.add("q", some_jobs("a", 2 * purged_at_once, 0), std::nullopt, now);
    purge_progress at = rules.purge("q", {}, now);
    CHECK(at.purged == purged_at_once);
    while (rules.remove_queue("q", 0, false, now).more) {
    }
    rules.flush();
    rows.commit();
    rules.reload(); // as after a step that has failed
    (void)rules.add("q", some_jobs("new", purged_at_once, 0), std::nullopt, now);
    while (!at.done)
        at = rules.purge("q", at, now);
    CHECK(at.purged == purged_at_once);
    CHECK(rules.describe("q", now)->counts.queued == purged_at_once);
}

TEST_CASE("the oldest of a queue is looked for again when its queued jobs have changed") {
    memory_table rows;
    ledger rules(rows, {});
    (void)rules.add("q", some_jobs("a", 1, 0), std::nullopt, now);
    CHECK(rules.describe("q", now)->oldest == now);
    CHECK(rules.describe("q", now)->oldest == now);
    const auto taken = rules.take("q", {{1, 0}}, now + 1);
    CHECK_FALSE(rules.describe("q", now + 1)->oldest);
    (void)rules.add("q", some_jobs("b", 1, 9), std::nullopt, now + 2);
    CHECK(rules.describe("q", now + 2)->oldest == now + 2);
    (void)rules.settle("q", {}, {{taken.at(0).at(0).lease_id, 0, ""}}, now + 3);
    CHECK(rules.describe("q", now + 3)->oldest == now);
    (void)rules.remove("q", taken.at(0).at(0).id, now + 4);
    CHECK(rules.describe("q", now + 4)->oldest == now + 2);
    (void)rules.purge("q", {}, now + 5);
    CHECK_FALSE(rules.describe("q", now + 5)->oldest);
}
