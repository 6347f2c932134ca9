#include <rota/distinct_job_queue.hpp>

#include <algorithm>
#include <atomic>
#include <expected>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

using queue = rota::distinct_job_queue<int>;
using ints = std::vector<int>;

ints keys_of(const queue::lease& jobs) {
    ints keys;
    for (const queue::job& j : jobs) {
        keys.push_back(j.key());
    }
    return keys;
}

/// Takes once, notes the keys, and commits after `length`.
rota::task<void> consume(queue* q, std::size_t max, ints* out, std::chrono::milliseconds length) {
    queue::lease jobs = co_await q->take_up_to(max);
    for (const queue::job& j : jobs) {
        out->push_back(j.key());
    }
    co_await rota::sleep_for(length);
    jobs.commit();
}

} // namespace

TEST_CASE("a key is there once, queued or in progress, and the first keeps its place") {
    queue q;
    REQUIRE(q.add(1));
    REQUIRE(q.add(2));
    REQUIRE_FALSE(q.add(1));
    REQUIRE(q.queued() == ints{1, 2});
    queue::lease jobs = q.try_take_up_to(1);
    REQUIRE(keys_of(jobs) == ints{1});
    REQUIRE(q.in_progress() == ints{1});
    REQUIRE(q.queued() == ints{2});
    REQUIRE_FALSE(q.add(1)); // in progress
    jobs.commit();
    REQUIRE(jobs.empty());
    REQUIRE(q.add(1)); // done: may come again, at the end
    REQUIRE(q.queued() == ints{2, 1});
}

TEST_CASE("add_all returns the refused in the order given") {
    queue q;
    REQUIRE(q.add_all({5, 3, 5, 1, 3, 3}) == ints{5, 3, 3});
    queue::lease jobs = q.try_take_up_to(2);
    REQUIRE(q.add_all({9, 3, 1, 8}) == ints{3, 1});
    REQUIRE(q.queued() == ints{1, 9, 8});
    REQUIRE(q.in_progress() == ints{5, 3});
    REQUIRE(q.add_all({}).empty());
}

TEST_CASE("take_up_to waits for one, and never to fill") {
    rota::inline_scheduler scheduler;
    queue q;
    ints got;
    (void)scheduler.spawn(consume(&q, 10, &got, 0ms));
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    REQUIRE(scheduler.blocked()[0].what == "distinct_job_queue::take");
    q.add(1);
    q.add(2);
    scheduler.advance(1ms);
    REQUIRE(got == ints{1});
    scheduler.run_task(consume(&q, 10, &got, 0ms));
    REQUIRE(got == ints{1, 2});
    REQUIRE_THROWS_AS(q.take_up_to(0), std::invalid_argument);
}

TEST_CASE("consumers are served first come first served, each up to what it asked for") {
    rota::inline_scheduler scheduler;
    queue q;
    ints a;
    ints b;
    ints c;
    (void)scheduler.spawn(consume(&q, 2, &a, 0ms));
    (void)scheduler.spawn(consume(&q, 3, &b, 0ms));
    (void)scheduler.spawn(consume(&q, 3, &c, 0ms));
    scheduler.run();
    REQUIRE(q.add_all({1, 2, 3, 4, 5, 6}).empty());
    REQUIRE(q.queued().empty()); // theirs already: nobody overtakes
    REQUIRE(q.try_take_up_to(1).empty());
    scheduler.run();
    REQUIRE(a == ints{1, 2});
    REQUIRE(b == ints{3, 4, 5});
    REQUIRE(c == ints{6});
}

TEST_CASE("what is put back is at its original place, before what came later") {
    queue q;
    q.add_all({1, 2, 3, 4, 5, 6});
    queue::lease first = q.try_take_up_to(2);
    queue::lease second = q.try_take_up_to(2);
    q.add(7);
    second.put_back();
    REQUIRE(q.queued() == ints{3, 4, 5, 6, 7});
    first.put_back();
    REQUIRE(q.queued() == ints{1, 2, 3, 4, 5, 6, 7});
    REQUIRE(keys_of(q.try_take_up_to(3)) == ints{1, 2, 3}); // and put back again at once
    REQUIRE(q.queued() == ints{1, 2, 3, 4, 5, 6, 7});
    REQUIRE(q.status(1)->failures == 2);
    REQUIRE(q.status(1)->attempts == 2);
    REQUIRE(q.status(7)->attempts == 0);
    REQUIRE_FALSE(q.status(8));
}

TEST_CASE("put back jobs go to those that wait") {
    rota::inline_scheduler scheduler;
    queue q;
    q.add(1);
    queue::lease jobs = q.try_take_up_to(1);
    ints got;
    (void)scheduler.spawn(consume(&q, 1, &got, 0ms));
    scheduler.run();
    REQUIRE(got.empty());
    jobs.put_back();
    scheduler.run();
    REQUIRE(got == ints{1});
}

TEST_CASE("a lease can be split, moved and outlive its queue") {
    auto q = std::make_unique<rota::distinct_job_queue<int, std::string>>();
    q->add(1, "one");
    q->add(2, "two");
    q->add(3, "three");
    auto jobs = q->try_take_up_to(3);
    auto one = jobs.split_front();
    REQUIRE(one.size() == 1);
    REQUIRE(one.front().payload() == "one");
    REQUIRE(jobs.size() == 2);
    REQUIRE(jobs.front().key() == 2);
    one.commit();
    auto two = jobs.split_front();
    two.put_back();
    REQUIRE(q->queued() == ints{2});
    REQUIRE(q->in_progress() == ints{3});
    auto moved = std::move(jobs);
    REQUIRE(jobs.empty());
    auto next = q->try_take_up_to(1);
    std::swap(next, moved);
    REQUIRE(q->in_progress() == ints{2, 3});
    next = std::move(moved); // and gives back what it had
    REQUIRE(moved.empty());
    REQUIRE(q->queued() == ints{3});
    REQUIRE(q->in_progress() == ints{2});
    next = q->try_take_up_to(1);
    REQUIRE(q->queued() == ints{2});
    moved = std::move(next);
    q.reset();
    REQUIRE(moved.front().payload() == "three");
}

TEST_CASE("with_taken removes on success and puts back on every kind of failure") {
    rota::inline_scheduler scheduler;
    queue q;
    q.add_all({1, 2});
    enum class how : std::uint8_t { well, says_no, error_value, throws, cancelled, empty };
    constexpr auto run = [](queue* jobs, how end) -> rota::task<void> {
        switch (end) {
        case how::well:
            (void)co_await jobs->with_taken(1,
                                            [](queue::lease&) -> rota::task<void> { co_return; });
            break;
        case how::says_no:
            (void)co_await jobs->with_taken(
                1, [](queue::lease&) -> rota::task<bool> { co_return false; });
            break;
        case how::error_value:
            (void)co_await jobs->with_taken(
                1, [](queue::lease&) -> rota::task<std::expected<int, std::string>> {
                    co_return std::unexpected("no");
                });
            break;
        case how::throws:
            (void)co_await jobs->with_taken(1, [](queue::lease&) -> rota::task<int> {
                throw std::runtime_error("on purpose");
                co_return 1;
            });
            break;
        case how::cancelled:
            (void)co_await jobs->with_taken(
                1, [](queue::lease&) -> rota::task<void> { co_await rota::sleep_for(1h); });
            break;
        case how::empty:
            (void)co_await jobs->with_taken(1,
                                            [](queue::lease&) -> rota::task<void> { return {}; });
            break;
        }
    };
    scheduler.run_task(run(&q, how::says_no));
    scheduler.run_task(run(&q, how::error_value));
    REQUIRE_THROWS_AS(scheduler.run_task(run(&q, how::throws)), std::runtime_error);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::with_timeout(1s, run(&q, how::cancelled))),
                      rota::timed_out);
    REQUIRE_THROWS_AS(scheduler.run_task(run(&q, how::empty)), std::logic_error);
    REQUIRE(q.queued() == ints{1, 2});
    REQUIRE(q.status(1)->failures == 5);
    scheduler.run_task(run(&q, how::well));
    REQUIRE(q.queued() == ints{2});
}

TEST_CASE("with_taken hands the result on, and ends with the queue") {
    rota::inline_scheduler scheduler;
    queue q;
    q.add_all({4, 5});
    constexpr auto add_up = [](queue::lease& jobs) -> rota::task<int> {
        int sum = 0;
        for (const queue::job& j : jobs) {
            sum += j.key();
        }
        co_return sum;
    };
    REQUIRE(scheduler.run_task(q.with_taken(2, add_up)) == 9);
    q.add(6);
    q.close();
    REQUIRE_FALSE(q.add(7));
    REQUIRE(scheduler.run_task(q.with_taken(2, add_up)) == 6); // what is left is taken
    REQUIRE(scheduler.run_task(q.with_taken(2, add_up)) == std::nullopt);
}

TEST_CASE("close wakes those that wait") {
    rota::inline_scheduler scheduler;
    queue q;
    ints got;
    (void)scheduler.spawn(consume(&q, 1, &got, 0ms));
    scheduler.run();
    q.close();
    REQUIRE(scheduler.advance(1ms) == rota::run_status::no_routines);
    REQUIRE(got.empty());
}

TEST_CASE("a cancelled consumer takes nothing, unless it has been served") {
    rota::inline_scheduler scheduler;
    queue q;
    ints a;
    ints b;
    const auto first = scheduler.spawn(consume(&q, 1, &a, 0ms));
    const auto second = scheduler.spawn(consume(&q, 1, &b, 1h));
    scheduler.run();
    first->request_stop();
    q.add(1);
    second->request_stop(); // it has its job, and fails with it at the sleep
    scheduler.run();
    REQUIRE(a.empty());
    REQUIRE(b == ints{1});
    REQUIRE(q.queued() == ints{1});
}

TEST_CASE("insert tells about the job that is there") {
    rota::distinct_job_queue<std::string, int> q({.max_jobs = 2});
    const auto added = q.insert("a", 1);
    REQUIRE(added.outcome == rota::add_outcome::added);
    q.add("b");
    auto jobs = q.try_take_up_to(1);
    const auto refused = q.insert("a", 2);
    REQUIRE(refused.outcome == rota::add_outcome::duplicate);
    REQUIRE(refused.status.id == added.status.id);
    REQUIRE(refused.status.in_progress);
    REQUIRE(jobs.front().payload() == 1);
    REQUIRE(q.insert("c").outcome == rota::add_outcome::full);
    int seen = 0;
    q.visit([&](const auto& j, const rota::job_status& s) {
        REQUIRE(j.key() == (s.in_progress ? "a" : "b"));
        return ++seen < 2;
    });
    REQUIRE(seen == 2);
}

TEST_CASE("the queue against a model, with random interleavings") {
    std::mt19937 random(99);
    for (int round = 0; round < 30; ++round) {
        rota::inline_scheduler scheduler;
        queue q;
        struct model_job {
            int key;
            bool busy;
        };
        std::vector<model_job> model; // in the order of adding
        std::vector<queue::lease> leases;
        const auto find = [&](int key) {
            return std::find_if(model.begin(), model.end(),
                                [key](const model_job& j) { return j.key == key; });
        };
        for (int step = 0; step < 400; ++step) {
            switch (random() % 4) {
            case 0: {
                const int key = static_cast<int>(random() % 40);
                const bool there = find(key) != model.end();
                REQUIRE(q.add(key) == !there);
                if (!there) {
                    model.push_back({key, false});
                }
                break;
            }
            case 1: {
                const std::size_t max = 1 + random() % 5;
                ints expected;
                for (model_job& j : model) {
                    if (!j.busy && expected.size() < max) {
                        j.busy = true;
                        expected.push_back(j.key);
                    }
                }
                leases.push_back(q.try_take_up_to(max));
                REQUIRE(keys_of(leases.back()) == expected);
                break;
            }
            default: {
                if (leases.empty()) {
                    break;
                }
                std::swap(leases[random() % leases.size()], leases.back());
                const bool done = random() % 2 == 0;
                for (const int key : keys_of(leases.back())) {
                    if (done) {
                        model.erase(find(key));
                    } else {
                        find(key)->busy = false;
                    }
                }
                if (done) {
                    leases.back().commit();
                }
                leases.pop_back();
            }
            }
            ints queued;
            ints busy;
            for (const model_job& j : model) {
                (j.busy ? busy : queued).push_back(j.key);
            }
            REQUIRE(q.queued() == queued);
            REQUIRE(q.in_progress() == busy);
        }
    }
}

TEST_CASE("jobs that fail, are cancelled and are repeated on several workers are all done once") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    queue q;
    std::vector<std::atomic<int>> done(500);
    constexpr auto work = [](queue* jobs, std::vector<std::atomic<int>>* out,
                             unsigned seed) -> rota::task<void> {
        std::mt19937 random(seed);
        const auto each = [&](queue::lease& taken) -> rota::task<bool> {
            co_await rota::yield();
            if (random() % 3 == 0) {
                co_return false;
            }
            if (random() % 5 == 0) {
                co_await rota::sleep_for(1h); // until the timeout
            }
            for (const queue::job& j : taken) {
                ++(*out)[static_cast<std::size_t>(j.key())];
            }
            co_return true;
        };
        for (;;) {
            try {
                auto taking = jobs->with_taken(1 + random() % 4, each);
                const auto result = co_await rota::with_timeout(2ms, std::move(taking));
                if (!result) {
                    co_return;
                }
            } catch (const rota::timed_out&) {
                continue;
            }
        }
    };
    for (unsigned i = 0; i < 6; ++i) {
        (void)rt.spawn(work(&q, &done, i));
    }
    rt.start();
    for (int i = 0; i < 500; ++i) {
        REQUIRE(q.add(i));
        REQUIRE(q.counts().added == static_cast<std::uint64_t>(i) + 1);
    }
    q.close();
    rt.join();
    REQUIRE(q.counts().completed == 500);
    REQUIRE(std::all_of(done.begin(), done.end(), [](const auto& n) { return n == 1; }));
}
