#include "jobs/watch/job_times.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace jobs;

TEST_CASE("times are counted by what ends") {
    job_times times;
    const auto tell = [&](change_kind kind, std::int64_t spent) {
        change what;
        what.kind = kind;
        what.spent_ms = spent;
        times.add(what);
    };
    tell(change_kind::added, -1);
    tell(change_kind::taken, 5);
    tell(change_kind::taken, 6);
    tell(change_kind::completed, 100'000'000);
    tell(change_kind::expired, 0);
    const job_times::seen seen = times.read("q");
    CHECK(seen.queue == "q");
    CHECK(seen.queued.counts[0] == 1);
    CHECK(seen.queued.counts[1] == 1);
    CHECK(seen.queued.sum_ms == 11);
    CHECK(seen.in_progress.counts.front() == 1);
    CHECK(seen.in_progress.counts.back() == 1);
    CHECK(seen.in_progress.sum_ms == 100'000'000);
}
