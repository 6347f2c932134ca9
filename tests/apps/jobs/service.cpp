#include "jobs/service.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/event.hpp>
#include <rota/inline_scheduler.hpp>

#include "jobs/rules/memory_store.hpp"

using namespace jobs;
using namespace std::chrono_literals;
using rota::task;

namespace {

using keys = std::vector<std::string>;

/// A service whose leases end in virtual time.
struct service_bench {
    explicit service_bench(store_limits limits = {}) : rows(limits) {
        ending = scheduler.spawn(served.end_leases(), {.name = "end of leases"});
        scheduler.run();
    }
    ~service_bench() {
        ending->request_stop();
        scheduler.run();
    }
    [[nodiscard]] time_ms now() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   scheduler.now().time_since_epoch() + ahead)
            .count();
    }
    /// Adds it, and runs nothing else.
    void add(const std::string& key, std::int64_t delay_ms = 0) {
        std::vector<new_job> one;
        one.push_back({key, "1", delay_ms});
        const auto adding = scheduler.spawn(add_to(&rows, std::move(one), now()));
        while (adding->state() != rota::routine_state::stopped)
            scheduler.run_one();
    }
    static task<void> add_to(store* to, std::vector<new_job> jobs, time_ms now) {
        task<std::vector<add_result>> adding = to->add("q", std::move(jobs), std::nullopt, now);
        (void)co_await std::move(adding);
    }
    keys in(job_state state) {
        job_list jobs = scheduler.run_task(rows.list("q", {.state = state}, now()));
        keys result;
        for (const job_info& job : jobs.jobs)
            result.push_back(job.key);
        return result;
    }
    keys queued() { return in(job_state::queued); }
    std::vector<taken_job> take(std::size_t max) {
        return scheduler.run_task(rows.take("q", {{max, 0}}, now())).at(0);
    }
    /// Starts to wait for jobs; the keys that come, once it has ended.
    rota::routine_ptr wait(std::size_t max, std::chrono::milliseconds wait, keys* into,
                           rota::event* gone) {
        const rota::routine_ptr r = scheduler.spawn(take_into(this, max, wait, into, gone));
        scheduler.run();
        return r;
    }
    static task<void> until(rota::event* e) { co_await e->wait(); }
    static task<void> take_into(service_bench* b, std::size_t max, std::chrono::milliseconds wait,
                                keys* into, rota::event* gone) {
        task<std::vector<taken_job>> waiting =
            b->served.wait_for_jobs(b->queue, {max, 0}, wait, until(gone));
        const std::vector<taken_job> jobs = co_await std::move(waiting);
        for (const taken_job& job : jobs)
            into->push_back(job.key);
        into->emplace_back("end");
    }
    static task<void> deliver(service_bench* b, std::string reaches, std::string is_lost) {
        delivery sent(b->served, b->queue, {std::move(reaches)});
        sent.delivered();
        const delivery lost(b->served, b->queue, {std::move(is_lost)});
        co_return;
    }
    static task<void> watch(service_bench* b, std::uint64_t after, int* ended) {
        task<bool> waiting = b->served.wait_for_event(b->queue, after, 1min);
        const bool there = co_await std::move(waiting);
        *ended = there ? 1 : 2;
    }

    rota::inline_scheduler scheduler;
    memory_store rows;
    std::chrono::nanoseconds ahead = 0ns; ///< the time of day, of the workers' clock
    service served{rows, {.wall_offset = [this] { return ahead; }}};
    watched_ptr queue = served.open("q");
    rota::routine_ptr ending;
};

} // namespace

TEST_CASE("a queue that is watched is one object") {
    service_bench b;
    CHECK(b.served.open("q") == b.queue);
    CHECK(b.served.open("r") != b.queue);
}

TEST_CASE("of too many queues those that nobody uses are let go") {
    memory_store rows;
    service served(rows, {.watched_max = 2});
    (void)served.open("idle");
    const watched_ptr used = served.open("used");
    const watched_ptr more = served.open("more");
    REQUIRE(more != nullptr);
    CHECK(served.open("used") == used);
    CHECK(served.open("one too many") == nullptr);
}

TEST_CASE("the events of a queue that was let go are followed by a gap") {
    memory_store rows;
    service served(rows, {.watched_max = 1});
    rota::inline_scheduler scheduler;
    const auto tell = [&](int count) {
        for (int i = 0; i < count; ++i)
            (void)scheduler.run_task(rows.pause("q", i % 2 == 0, 1));
    };
    tell(3);
    CHECK(served.open("q")->log.last() == 3);
    (void)served.open("another");
    CHECK(served.open("q")->log.last() > 3);
    tell(4);
    const watched_ptr again = served.open("q");
    const std::vector<event> known = again->log.after(3, 10);
    REQUIRE(known.size() == 4);
    CHECK(known.front().number > 4);
}

TEST_CASE("the time is the worker's") {
    service_bench b;
    CHECK(b.served.steady(b.now()) == b.scheduler.now());
    memory_store rows;
    const service real(rows);
    const time_ms wall = std::chrono::duration_cast<std::chrono::milliseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
    CHECK(std::abs(real.now() - wall) < 3'600'000);
}

TEST_CASE("leases end by themselves") {
    service_bench b({.lease_ms = 30'000});
    for (const char* key : {"1", "2", "3"})
        b.add(key);
    (void)b.take(1);
    b.scheduler.advance(10s);
    (void)b.take(1);
    keys got;
    rota::event gone;
    (void)b.take(1);
    b.wait(1, 1min, &got, &gone);
    b.scheduler.advance(19s);
    CHECK(got.empty());
    b.scheduler.advance(2s);
    CHECK(got == keys{"1", "end"});
    b.scheduler.advance(10s);
    CHECK(b.queued() == keys{"2", "3"});
}

TEST_CASE("leases end by the time of day, which may be set") {
    service_bench b({.lease_ms = 30'000});
    b.add("1");
    (void)b.take(1);
    keys got;
    rota::event gone;
    b.wait(1, 10min, &got, &gone);
    b.scheduler.advance(1s);
    SECTION("forwards: earlier by as much, within a second") {
        b.ahead = 20s;
        b.scheduler.advance(8s);
        CHECK(got.empty());
        b.scheduler.advance(2s);
    }
    SECTION("forwards, beyond the end") {
        b.ahead = 8h;
        b.scheduler.advance(2s);
    }
    SECTION("backwards: later by as much") {
        b.ahead = -1min;
        b.scheduler.advance(88s);
        CHECK(got.empty());
        b.scheduler.advance(2s);
    }
    CHECK(got == keys{"1", "end"});
}

TEST_CASE("delays end by themselves") {
    service_bench b;
    keys got;
    rota::event gone;
    b.wait(1, 1min, &got, &gone);
    b.add("late", 5'000);
    b.scheduler.advance(4s);
    CHECK(got.empty());
    b.scheduler.advance(2s);
    CHECK(got == keys{"late", "end"});
}

TEST_CASE("jobs that could not be delivered go back") {
    service_bench b;
    b.add("1");
    b.add("2");
    std::vector<std::string> leases;
    for (const taken_job& job : b.take(2))
        leases.push_back(job.lease_id);
    b.scheduler.run_task(service_bench::deliver(&b, leases[1], leases[0]));
    CHECK(b.queued() == keys{"1"});
    CHECK(b.take(1).at(0).attempt == 2);
}

TEST_CASE("a consumer waits for at least one") {
    service_bench b;
    keys got;
    rota::event gone;
    b.wait(10, 1min, &got, &gone);
    CHECK(got.empty());
    b.add("1");
    b.scheduler.run();
    CHECK(got == keys{"1", "end"});
}

TEST_CASE("consumers are served first come first served") {
    service_bench b;
    keys first;
    keys second;
    keys third;
    rota::event gone;
    b.wait(1, 1min, &first, &gone);
    b.wait(1, 1min, &second, &gone);
    const rota::routine_ptr leaving = b.wait(1, 1min, &third, &gone);
    b.add("1");
    b.scheduler.run();
    CHECK(first == keys{"1", "end"});
    CHECK(second.empty());
    CHECK(b.scheduler.run_task(b.served.take_now(b.queue, {1, 0})).empty()); // others wait
    b.add("2");
    b.scheduler.run();
    CHECK(second == keys{"2", "end"});
    CHECK(third.empty());
    leaving->request_stop();
    b.scheduler.run();
    b.add("3");
    CHECK(b.scheduler.run_task(b.served.take_now(b.queue, {1, 0})).size() == 1);
}

TEST_CASE("who does not wait gets what is left behind those who do") {
    service_bench b;
    keys first;
    keys second;
    keys last;
    rota::event gone;
    b.wait(1, 1min, &first, &gone);
    b.wait(1, 1min, &second, &gone);
    for (const char* key : {"1", "2", "3", "4"})
        b.add(key); // nobody has been told yet
    const std::vector<taken_job> got = b.scheduler.run_task(b.served.take_now(b.queue, {1, 0}));
    CHECK(first == keys{"1", "end"});
    CHECK(second == keys{"2", "end"});
    REQUIRE(got.size() == 1);
    CHECK(got[0].key == "3");
    CHECK(b.queued() == keys{"4"});
}

TEST_CASE("a crowd that waits is served in order, and costs nothing while it waits") {
    service_bench b;
    constexpr int count = 600; // more than are asked for at once
    std::vector<keys> got(count);
    rota::event gone;
    for (keys& each : got)
        b.wait(1, 1min, &each, &gone);
    CHECK(b.scheduler.run() == rota::run_status::some_routines_blocked);
    CHECK(b.scheduler.run_task(b.served.take_now(b.queue, {1, 0})).empty());
    for (int i = 0; i < count; ++i)
        b.add(std::to_string(i));
    b.scheduler.run();
    for (int i = 0; i < count; ++i)
        CHECK(got[static_cast<std::size_t>(i)] == keys{std::to_string(i), "end"});
}

TEST_CASE("a queue that is resumed serves those who wait") {
    service_bench b;
    keys got;
    rota::event gone;
    b.scheduler.run_task(b.rows.pause("q", true, b.now()));
    b.add("1");
    b.wait(1, 1min, &got, &gone);
    CHECK(got.empty());
    b.scheduler.run_task(b.rows.pause("q", false, b.now()));
    b.scheduler.run();
    CHECK(got == keys{"1", "end"});
}

TEST_CASE("waiting ends without jobs") {
    service_bench b;
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
    b.add("1");
    b.scheduler.run();
    CHECK(b.queued() == keys{"1"});
}

TEST_CASE("a job that comes as the client goes stays as it was") {
    service_bench b;
    keys got;
    rota::event gone;
    b.wait(1, 1min, &got, &gone);
    b.add("1"); // the consumer is told, but has not run yet
    gone.set();
    b.scheduler.run();
    CHECK(got == keys{"end"});
    CHECK(b.queued() == keys{"1"});
    CHECK(b.take(1).at(0).attempt == 1);
}

TEST_CASE("a cancelled consumer takes nothing") {
    service_bench b;
    keys got;
    rota::event gone;
    const rota::routine_ptr consumer = b.wait(1, 1min, &got, &gone);
    b.add("1");
    consumer->request_stop();
    b.scheduler.run();
    CHECK(consumer->state() == rota::routine_state::stopped);
    CHECK(got.empty());
    CHECK(b.queued() == keys{"1"});
}

TEST_CASE("events are waited for") {
    service_bench b;
    int ended = 0;
    b.scheduler.spawn(service_bench::watch(&b, 0, &ended));
    b.scheduler.run();
    CHECK(ended == 0);
    SECTION("until there is one") {
        b.add("1");
        b.scheduler.run();
        CHECK(ended == 1);
    }
    SECTION("until the time is over") {
        b.scheduler.advance(61s);
        CHECK(ended == 2);
    }
    SECTION("until a drain") {
        b.served.drain();
        b.scheduler.run();
        CHECK(ended == 2);
    }
}
