#include "jobs/service.hpp"

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>

using namespace jobs;
using namespace std::chrono_literals;
using rota::task;

namespace {

using keys = std::vector<std::string>;

/// A service whose leases end in virtual time.
struct bench {
    explicit bench(service_options options = {}) : served(options) {
        ending = scheduler.spawn(served.end_leases(), {.name = "end of leases"});
        scheduler.run();
    }
    ~bench() {
        ending->request_stop();
        scheduler.run();
    }
    std::vector<std::string> hand_out(std::size_t max) {
        job_queue::lease jobs = queue->try_take_up_to(max);
        std::vector<std::string> ids = service::new_lease_ids(jobs.size());
        delivery sent = served.hand_out(queue, std::move(jobs), ids, scheduler.now());
        sent.delivered();
        scheduler.run();
        return ids;
    }
    /// Starts to wait for jobs; the keys that come, once it has ended.
    rota::routine_ptr wait(std::size_t max, std::chrono::milliseconds wait, keys* into,
                           rota::event* gone) {
        const rota::routine_ptr r = scheduler.spawn(take(this, max, wait, into, gone));
        scheduler.run();
        return r;
    }
    static task<void> until(rota::event* e) { co_await e->wait(); }
    static task<void> take(bench* b, std::size_t max, std::chrono::milliseconds wait, keys* into,
                           rota::event* gone) {
        task<job_queue::lease> waiting = b->served.wait_for_jobs(b->queue, max, wait, until(gone));
        job_queue::lease jobs = co_await std::move(waiting);
        for (const job_queue::job& job : jobs)
            into->push_back(job.key());
        into->emplace_back("end");
        jobs.commit();
    }

    rota::inline_scheduler scheduler;
    service served;
    std::shared_ptr<job_queue> queue = served.open("q");
    rota::routine_ptr ending;
};

} // namespace

TEST_CASE("queues exist from first use") {
    service served;
    CHECK(served.find("a") == nullptr);
    const auto a = served.open("a");
    CHECK(served.open("a") == a);
    CHECK(served.find("a") == a);
    CHECK(served.queues().size() == 1);
}

TEST_CASE("of too many queues those that nobody uses are forgotten") {
    service served({.queues_max = 2});
    (void)served.open("idle");
    served.open("full")->add("k", "1");
    const auto used = served.open("used");
    REQUIRE(used != nullptr);
    CHECK(served.find("idle") == nullptr);
    CHECK(served.find("full") != nullptr);
    CHECK(served.open("more") == nullptr);
}

TEST_CASE("acknowledged jobs are gone, retried ones are back at their place") {
    bench b;
    for (const char* key : {"1", "2", "3", "4"})
        b.queue->add(key, key);
    const std::vector<std::string> ids = b.hand_out(3);
    const std::vector<std::string> acks{ids[0], "nonsense"};
    const std::vector<std::string> retries{ids[2], ids[1], ids[0]};
    const acknowledged result = b.served.acknowledge(*b.queue, acks, retries);
    CHECK(result.acked == 1);
    CHECK(result.retried == 2);
    CHECK(result.lost == std::vector<std::string>{"nonsense", ids[0]});
    CHECK(b.queue->queued() == keys{"2", "3", "4"});
    CHECK(b.queue->in_progress().empty());
}

TEST_CASE("leases end by themselves") {
    bench b({.lease = 30s});
    for (const char* key : {"1", "2", "3"})
        b.queue->add(key, key);
    const auto first = b.hand_out(1);
    b.scheduler.advance(10s);
    const auto second = b.hand_out(1);
    b.scheduler.advance(19s);
    CHECK(b.queue->in_progress() == keys{"1", "2"});
    b.scheduler.advance(2s);
    CHECK(b.queue->queued() == keys{"1", "3"});
    CHECK(b.served.expired() == 1);
    CHECK(b.served.acknowledge(*b.queue, first, {}).lost == first);
    CHECK(b.served.acknowledge(*b.queue, second, {}).acked == 1);
    b.scheduler.advance(1h);
    CHECK(b.queue->queued() == keys{"1", "3"});
    CHECK(b.queue->try_take_up_to(1).front().attempt() == 2);
}

TEST_CASE("jobs that could not be delivered go back") {
    bench b;
    b.queue->add("1", "1");
    b.queue->add("2", "2");
    {
        job_queue::lease jobs = b.queue->try_take_up_to(2);
        const delivery lost =
            b.served.hand_out(b.queue, std::move(jobs), {"a", "b"}, b.scheduler.now());
        CHECK(b.queue->in_progress().size() == 2);
        const std::vector<std::string> early{"a"};
        CHECK(b.served.acknowledge(*b.queue, early, {}).acked == 1);
    }
    CHECK(b.queue->queued() == keys{"2"});
}

TEST_CASE("a consumer waits for at least one") {
    bench b;
    keys got;
    rota::event gone;
    b.wait(10, 1min, &got, &gone);
    CHECK(got.empty());
    b.queue->add("1", "1");
    b.scheduler.run();
    CHECK(got == keys{"1", "end"});
}

TEST_CASE("consumers are served first come first served") {
    bench b;
    keys first;
    keys second;
    rota::event gone;
    b.wait(1, 1min, &first, &gone);
    b.wait(1, 1min, &second, &gone);
    b.queue->add("1", "1");
    b.scheduler.run();
    CHECK(first == keys{"1", "end"});
    CHECK(second.empty());
    b.queue->add("2", "2");
    b.scheduler.run();
    CHECK(second == keys{"2", "end"});
}

TEST_CASE("waiting ends without jobs") {
    bench b;
    keys got;
    rota::event gone;
    SECTION("after its time") {
        b.wait(1, 5s, &got, &gone);
        b.scheduler.advance(6s);
    }
    SECTION("when the client goes") {
        b.wait(1, 1min, &got, &gone);
        gone.set();
        b.scheduler.run();
    }
    SECTION("when the client has gone already") {
        gone.set();
        b.wait(1, 1min, &got, &gone);
    }
    SECTION("by a drain") {
        b.wait(1, 1min, &got, &gone);
        b.served.drain();
        b.scheduler.run();
    }
    SECTION("after a drain") {
        b.served.drain();
        b.wait(1, 1min, &got, &gone);
    }
    CHECK(got == keys{"end"});
    b.queue->add("1", "1");
    b.scheduler.run();
    CHECK(b.queue->queued() == keys{"1"});
}

TEST_CASE("a job that comes as the client goes stays") {
    bench b;
    keys got;
    rota::event gone;
    b.wait(1, 1min, &got, &gone);
    b.queue->add("1", "1"); // given to the consumer, who has not run yet
    gone.set();
    b.scheduler.run();
    CHECK(got == keys{"end"});
    CHECK(b.queue->queued() == keys{"1"});
}

TEST_CASE("a cancelled consumer takes nothing") {
    bench b;
    keys got;
    rota::event gone;
    const rota::routine_ptr consumer = b.wait(1, 1min, &got, &gone);
    b.queue->add("1", "1");
    consumer->request_stop();
    b.scheduler.run();
    CHECK(consumer->state() == rota::routine_state::stopped);
    CHECK(got.empty());
    CHECK(b.queue->queued() == keys{"1"});
}

TEST_CASE("lease ids are fresh") {
    const std::vector<std::string> ids = service::new_lease_ids(1'000);
    CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == 1'000);
    CHECK(ids.front().size() == 32);
    CHECK(service::new_lease_ids(0).empty());
}
