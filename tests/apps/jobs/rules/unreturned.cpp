#include "jobs/rules/unreturned.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

#include "jobs/rules/memory_store.hpp"
#include "jobs/rules/step.hpp"
#include "jobs/service.hpp"

using namespace jobs;
using namespace std::chrono_literals;

namespace {

/// A store that can be away, or not say what it has done.
class unsteady_store final : public memory_store {
public:
    enum class now : std::uint8_t { there, away, silent };
    now is = now::there;

private:
    bool submit(store_step& what, std::exception_ptr& error) override {
        if (is == now::away) {
            error = failure("it is away", store_fault::unreachable);
            return false;
        }
        const bool later = memory_store::submit(what, error);
        if (is == now::silent && !error)
            error = failure("it says nothing", store_fault::unknown);
        return later;
    }
};

/// A service over it, with a queue of two jobs, in virtual time.
struct unsteady_bench {
    unsteady_bench() {
        std::vector<new_job> two{{"1", "1"}, {"2", "2"}};
        (void)scheduler.run_task(rows.add("q", std::move(two), std::nullopt, served->now()));
        ending = scheduler.spawn(served->end_leases());
        scheduler.run();
    }
    ~unsteady_bench() { stop(); }
    void stop() {
        ending->request_stop();
        scheduler.run();
        served.reset();
    }
    std::vector<taken_job> take() {
        const std::vector<taken_job> got =
            scheduler.run_task(served->take_now(served->open("q"), {2, 0}));
        return got;
    }
    queue_counts counts() { return scheduler.run_task(rows.describe("q", 1))->counts; }

    rota::inline_scheduler scheduler;
    unsteady_store rows;
    std::optional<service> served{std::in_place, rows};
    rota::routine_ptr ending;
};

using state = unsteady_store::now;

} // namespace

TEST_CASE("leases are kept in order until they end") {
    unreturned kept;
    CHECK_FALSE(kept.next(0));
    kept.keep({"q", {"a"}, true, false, 9});
    kept.keep({"q", {"b", "c"}, false, false, 10});
    kept.keep({"r", {"d"}, false, true, 10});
    CHECK(kept.size() == 3);
    const auto first = kept.next(10);
    REQUIRE(first);
    CHECK(first->ids == std::vector<std::string>{"b", "c"});
    CHECK(kept.next(10)->queue == "r");
    CHECK(kept.size() == 0);
}

TEST_CASE("of too many leases those kept first are left to their end") {
    unreturned kept;
    kept.keep({"q", {"a", "b"}, true, false, 1});
    kept.keep({"q", std::vector<std::string>(unreturned::leases_max - 2), true, false, 1});
    CHECK(kept.size() == 2);
    kept.keep({"q", {"c"}, true, false, 1});
    CHECK(kept.size() == 2);
    CHECK(kept.next(0)->ids.size() == unreturned::leases_max - 2);
    CHECK(kept.next(0)->ids.front() == "c");
}

TEST_CASE("jobs that cannot be put back go back once the store is there") {
    unsteady_bench b;
    std::vector<std::string> leases;
    for (const taken_job& job : b.take())
        leases.push_back(job.lease_id);
    b.rows.is = state::away;
    SECTION("counted as an attempt where they were sent") {
        const delivery lost(*b.served, b.served->open("q"), leases);
    }
    SECTION("as often as it takes") {
        b.rows.put_back("q", leases, true, b.served->now());
        b.scheduler.advance(10s);
    }
    b.scheduler.run();
    b.rows.is = state::there;
    CHECK(b.counts().in_progress == 2);
    b.scheduler.advance(2s);
    CHECK(b.counts().in_progress == 0);
    CHECK(b.counts().queued == 2);
    CHECK(b.counts().failures == 2);
}

TEST_CASE("jobs that cannot be put back before the end are tried once more then") {
    unsteady_bench b;
    const std::vector<taken_job> got = b.take();
    b.rows.is = state::away;
    b.rows.put_back("q", {got[0].lease_id, got[1].lease_id}, false, b.served->now());
    SECTION("which may do") {
        b.rows.is = state::there;
        b.stop();
        CHECK(b.counts().queued == 2);
    }
    SECTION("else they are left to their end") {
        b.stop();
        b.rows.is = state::there;
        CHECK(b.counts().in_progress == 2);
    }
}

TEST_CASE("what a take has given out goes back if nobody knows whether it was done") {
    unsteady_bench b;
    b.rows.is = state::silent;
    SECTION("by one that does not wait") { CHECK_THROWS_AS(b.take(), store_error); }
    SECTION("by one that waits") {
        CHECK_THROWS_AS(
            b.scheduler.run_task(b.served->wait_for_jobs(b.served->open("q"), {2, 0}, 1min)),
            store_error);
    }
    b.rows.is = state::there;
    b.scheduler.advance(2s);
    CHECK(b.counts().in_progress == 0);
    CHECK(b.counts().failures == 0);
    const std::vector<taken_job> again = b.take();
    REQUIRE(again.size() == 2);
    CHECK(again[0].attempt == 1);
}
