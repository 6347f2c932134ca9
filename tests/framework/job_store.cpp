#include <rota/detail/job_store.hpp>

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>

using namespace std::chrono_literals;

namespace {

using store =
    rota::detail::job_store<std::string, int, std::hash<std::string>, std::equal_to<std::string>>;

store::add_result add(store& s, const std::string& key, int payload = 0) {
    std::vector<std::unique_ptr<store::job>> incoming;
    incoming.push_back(std::make_unique<store::job>(key, payload));
    store::add_result result;
    s.add(incoming, [&](const store::add_result& told) { result = told; });
    return result;
}

} // namespace

TEST_CASE("a store counts attempts, failures and collisions, and keeps the times") {
    rota::virtual_time time;
    store s({.max_jobs = 10, .time = &time});
    REQUIRE(add(s, "a").status.id == 1);
    time.move_to(time.now() + 3s);
    REQUIRE(add(s, "a").outcome == rota::add_outcome::duplicate);
    REQUIRE(add(s, "a").status.collisions == 2);
    REQUIRE(s.status("a")->queued_for == 3s);

    store::chain taken = s.try_take(5);
    REQUIRE(taken.count == 1);
    REQUIRE(taken.first->attempt() == 1);
    time.move_to(time.now() + 5s);
    REQUIRE(s.status("a")->in_progress);
    REQUIRE(s.status("a")->in_progress_for == 5s);
    REQUIRE(s.status("a")->queued_for == 3s);
    s.put_back(taken);
    time.move_to(time.now() + 7s);
    taken = s.try_take(1);
    const rota::job_status status = *s.status("a");
    REQUIRE(status.attempts == 2);
    REQUIRE(status.failures == 1);
    REQUIRE(status.queued_for == 10s);
    REQUIRE(status.in_progress_for == 5s);
    s.commit(taken);
    REQUIRE_FALSE(s.status("a"));

    const rota::job_counts counts = s.counts();
    REQUIRE(counts.added == 1);
    REQUIRE(counts.completed == 1);
    REQUIRE(counts.failures == 1);
    REQUIRE(counts.collisions == 2);
    REQUIRE(counts.queued + counts.in_progress == 0);
}

TEST_CASE("a store refuses more than it may hold, and everything once closed") {
    store s({.max_jobs = 2});
    REQUIRE(add(s, "a").outcome == rota::add_outcome::added);
    REQUIRE(add(s, "b").outcome == rota::add_outcome::added);
    REQUIRE(add(s, "c").outcome == rota::add_outcome::full);
    REQUIRE(add(s, "b").outcome == rota::add_outcome::duplicate);
    const store::chain taken = s.try_take(1);
    REQUIRE(add(s, "c").outcome == rota::add_outcome::full); // in progress counts
    s.commit(taken);
    REQUIRE(add(s, "c").outcome == rota::add_outcome::added);
    REQUIRE(add(s, "a").outcome == rota::add_outcome::full);
    s.close();
    REQUIRE(add(s, "d").outcome == rota::add_outcome::closed);
    REQUIRE(s.try_take(9).count == 2); // the store is destroyed with jobs in progress
}

TEST_CASE("a store looks only as far as it is asked to") {
    store s({});
    for (int i = 0; i < 10; ++i) {
        add(s, std::to_string(i), i);
    }
    const store::chain taken = s.try_take(4);
    int seen = 0;
    s.visit(store::part::once_taken, [&](const store::job&, const rota::job_status& status) {
        REQUIRE(status.in_progress);
        ++seen;
        return true;
    });
    REQUIRE(seen == 4);
    s.visit(store::part::all, [&](const store::job& j, const rota::job_status&) {
        ++seen;
        return j.payload() != 5;
    });
    REQUIRE(seen == 10);
    s.put_back(taken);
}
