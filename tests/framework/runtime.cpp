#include <rota/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<void> count_up(std::atomic<int>* n, int times) {
    for (int i = 0; i < times; ++i) {
        ++*n;
        co_await rota::yield();
    }
}

rota::task<void> wait_for(rota::event* e, std::atomic<int>* n) {
    co_await e->wait();
    ++*n;
}

rota::task<std::string> greet(std::string name) {
    co_await rota::yield();
    co_return "hello " + name;
}

rota::task<int> fail() {
    co_await rota::yield();
    throw std::runtime_error("on purpose");
}

rota::task<void> fail_detached() { (void)co_await fail(); }

/// Work that holds something, waits in many ways and never ends by itself.
rota::task<void> toil(rota::channel<int>* c, std::shared_ptr<int> held) {
    for (int i = 0;; ++i) {
        if (i % 3 == 0) {
            co_await rota::sleep_for(std::chrono::milliseconds(i % 5));
        }
        if (*held % 2 == 0) {
            co_await c->push(i);
        } else {
            (void)co_await c->pop();
        }
    }
}

rota::task<void> toil_in_groups(rota::channel<int>* c, std::shared_ptr<int> held) {
    rota::task_group group(co_await rota::current_context);
    group.spawn(toil(c, held));
    group.spawn(toil(c, std::make_shared<int>(*held + 1)));
    co_await group.join();
}

/// Waits, without sleeping, for what other threads bring about.
template <class Condition>
void eventually(Condition&& condition) {
    while (!condition()) {
        std::this_thread::yield();
    }
}

} // namespace

TEST_CASE("spawned before the start, run after it, joined") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    std::atomic<int> n = 0;
    for (int i = 0; i < 30; ++i) {
        (void)rt.spawn(count_up(&n, 10));
    }
    REQUIRE(n == 0);
    REQUIRE(rt.routine_count() == 30);
    rt.start();
    rt.start();
    rt.join();
    REQUIRE(n == 300);
    REQUIRE(rt.routine_count() == 0);
    (void)rt.spawn(count_up(&n, 1)); // and again
    rt.join();
    REQUIRE(n == 301);
}

TEST_CASE("a worker with much to do for a moment still gets its share of what stays") {
    // All clients have gone and come back: one worker has seen to that already, one has not.
    rota::runtime rt({.workers = 2});
    rota::worker& quick = *rt.worker_at(0);
    for (int i = 0; i < 10; ++i)
        quick.add_connection();
    std::atomic<int> n = 0;
    for (int i = 0; i < 10; ++i)
        (void)rt.spawn(count_up(&n, 1));
    REQUIRE(rt.worker_at(1)->load().runnable == 10);
    for (int i = 0; i < 30; ++i)
        rt.assign().get().add_connection();
    REQUIRE(quick.load().connections == 25);
    REQUIRE(rt.worker_at(1)->load().connections == 15);
    rt.join();
    REQUIRE(n == 10);
}

TEST_CASE("block_on returns values and rethrows exceptions") {
    rota::runtime rt({.workers = 1});
    REQUIRE(rt.block_on(greet("world")) == "hello world");
    REQUIRE_THROWS_AS(rt.block_on(fail()), std::runtime_error);
    rt.block_on(rota::sleep_for(1ms));
}

TEST_CASE("block_on refuses a task that cannot be awaited") {
    rota::runtime rt({.workers = 1});
    CHECK_THROWS_AS(rt.block_on(rota::task<void>()), std::invalid_argument);
    CHECK_THROWS_AS(rt.block_on(rota::task<int>()), std::invalid_argument);
}

TEST_CASE("an exception in a detached routine is reported with its name and ends that one only") {
    std::mutex lock;
    std::vector<std::string> reported;
    rota::runtime rt({.workers = 2, .on_error = [&](const rota::routine& r, std::exception_ptr) {
                          const std::lock_guard guard(lock);
                          reported.push_back(r.name());
                      }});
    std::atomic<int> n = 0;
    (void)rt.spawn(count_up(&n, 1000), {.name = "busy"});
    (void)rt.spawn(fail_detached(), {.name = "doomed"});
    rt.join();
    REQUIRE(reported == std::vector<std::string>{"doomed"});
    REQUIRE(n == 1000);
}

TEST_CASE("blocked lists each waiting routine with its place and worker") {
    rota::runtime rt({.workers = 2});
    rt.start();
    rota::event e;
    std::atomic<int> n = 0;
    std::map<std::string, std::size_t> homes;
    for (int i = 0; i < 6; ++i) {
        const std::string name = "waiter-" + std::to_string(i);
        homes[name] = rt.spawn(wait_for(&e, &n), {.name = name})->home().index();
    }
    eventually([&] { return rt.blocked().size() == 6; });
    for (const rota::blocked_routine& b : rt.blocked()) {
        REQUIRE(homes.at(b.name) == b.worker);
        REQUIRE(b.what == "event");
        REQUIRE(b.file.ends_with("runtime.cpp"));
        REQUIRE(b.since <= std::chrono::steady_clock::now());
        homes.erase(b.name);
    }
    REQUIRE(homes.empty());
    e.set();
    rt.join();
    REQUIRE(rt.blocked().empty());
    REQUIRE(n == 6);
}

TEST_CASE("stop ends everything, joins the threads and leaks nothing") {
    for (int round = 0; round < 10; ++round) {
        const auto witness = std::make_shared<int>(round);
        rota::channel<int> c(2);
        {
            rota::runtime rt({.workers = 3, .batch_size = 2});
            for (int i = 0; i < 40; ++i) {
                (void)rt.spawn(toil(&c, std::make_shared<int>(i)));
                (void)rt.spawn(toil(&c, witness));
                (void)rt.spawn(toil_in_groups(&c, witness));
            }
            rt.start();
            std::jthread another([&] { rt.stop(); });
            rt.stop();
            another.join();
            REQUIRE(rt.routine_count() == 0);
            for (const rota::worker_status& w : rt.workers()) {
                REQUIRE(w.routines == 0);
            }
        }
        REQUIRE(witness.use_count() == 1);
    }
}

TEST_CASE("routines that spawn while the runtime stops are stopped as well") {
    rota::runtime rt({.workers = 2});
    constexpr auto hydra = [](auto self, rota::runtime* r, int heads) -> rota::task<void> {
        try {
            co_await rota::sleep_for(1h);
        } catch (const rota::operation_cancelled&) {
            for (int i = 0; i < heads; ++i) {
                (void)r->spawn(self(self, r, heads - 1));
            }
        }
    };
    (void)rt.spawn(hydra(hydra, &rt, 4));
    rt.start();
    rt.stop();
    REQUIRE(rt.routine_count() == 0);
}

TEST_CASE("a thread of the program's that spawns and spawns does not keep it from stopping") {
    rota::runtime rt({.workers = 1});
    rt.start();
    std::atomic<int> begun = 0;
    std::atomic<bool> stopped = false;
    std::atomic<bool> taken_late = false;
    const auto spawn_on = [&](rota::worker* on) {
        try {
            while (!taken_late) {
                const bool late = stopped;
                (void)rt.spawn(rota::sleep_for(1h), {.on = on});
                if (late)
                    taken_late = true;
                ++begun;
                begun.notify_one();
            }
        } catch (const std::logic_error&) {
        }
    };
    {
        const std::jthread anywhere([&] { spawn_on(nullptr); });
        const std::jthread somewhere([&] { spawn_on(rt.worker_at(0)); });
        begun.wait(0);
        rt.stop();
        stopped = true;
    }
    REQUIRE_FALSE(taken_late);
}

TEST_CASE("a runtime that was never started, and one that has been stopped") {
    std::atomic<int> n = 0;
    {
        rota::runtime rt({.workers = 2});
        (void)rt.spawn(count_up(&n, 5)); // ends at its first wait
    }
    REQUIRE(n == 1);
    rota::runtime rt({.workers = 2});
    rt.stop();
    rt.stop();
    rt.join();
    REQUIRE_THROWS_AS(rt.start(), std::logic_error);
    REQUIRE_THROWS_AS(rt.set_workers(1), std::logic_error);
    REQUIRE_THROWS_AS(rt.spawn(count_up(&n, 1)), std::logic_error);
    REQUIRE_THROWS_AS(rt.block_on(greet("nobody")), std::logic_error);
}

TEST_CASE("a routine cannot wait for the end of its own runtime") {
    rota::runtime rt({.workers = 2});
    rota::runtime other({.workers = 1});
    constexpr auto try_it = [](rota::runtime* own, rota::runtime* beside) -> rota::task<int> {
        int refused = 0;
        try {
            own->stop();
        } catch (const std::logic_error&) {
            ++refused;
        }
        try {
            (void)own->block_on(greet("itself"));
        } catch (const std::logic_error&) {
            ++refused;
        }
        (void)beside->block_on(greet("another"));
        beside->stop();
        co_return refused;
    };
    REQUIRE(rt.block_on(try_it(&rt, &other)) == 2);
    rt.stop();
}

TEST_CASE("the number of workers grows and shrinks while running") {
    rota::runtime rt({.workers = 2});
    rt.start();
    REQUIRE(rt.worker_count() == 2);
    rt.set_workers(5);
    REQUIRE(rt.worker_count() == 5);
    std::atomic<int> n = 0;
    std::set<std::size_t> used;
    for (int i = 0; i < 50; ++i) {
        used.insert(rt.spawn(count_up(&n, 3))->home().index());
    }
    rt.join();
    REQUIRE(used == std::set<std::size_t>{0, 1, 2, 3, 4});

    rt.set_workers(1);
    REQUIRE(rt.worker_count() == 1);
    eventually([&] { return rt.workers().size() == 1; });
    for (int i = 0; i < 10; ++i) {
        REQUIRE(rt.spawn(count_up(&n, 1))->home().index() == 0);
    }
    REQUIRE_THROWS_AS(rt.spawn(count_up(&n, 1), {.on = rt.worker_at(4)}), std::logic_error);
    rt.join();

    rt.set_workers(3); // workers that had ended run again
    used.clear();
    for (int i = 0; i < 30; ++i) {
        used.insert(rt.spawn(count_up(&n, 3))->home().index());
    }
    rt.join();
    REQUIRE(used == std::set<std::size_t>{0, 1, 2});
    REQUIRE(n == 150 + 10 + 90);
    REQUIRE_THROWS_AS(rt.set_workers(0), std::invalid_argument);
    REQUIRE_THROWS_AS(rt.set_workers(rota::runtime::max_workers + 1), std::invalid_argument);
    REQUIRE_THROWS_AS(rota::runtime({.workers = 1000}), std::invalid_argument);
    REQUIRE(rt.worker_at(7) == nullptr);
}

TEST_CASE("a worker that has to go takes no new routines and lets its own end") {
    rota::runtime rt({.workers = 2});
    rt.start();
    rota::event e;
    std::atomic<int> n = 0;
    const auto kept = rt.spawn(wait_for(&e, &n), {.on = rt.worker_at(1)});
    rt.set_workers(1);
    bool draining = false;
    for (const rota::worker_status& w : rt.workers()) {
        draining = draining || (w.index == 1 && w.draining && w.routines == 1);
    }
    REQUIRE(draining);
    for (int i = 0; i < 5; ++i) {
        REQUIRE(rt.spawn(count_up(&n, 1))->home().index() == 0);
    }
    rt.set_workers(2); // taken back before it has ended
    REQUIRE(rt.worker_count() == 2);
    rt.set_workers(1);
    e.set();
    kept->wait_stopped();
    eventually([&] { return rt.workers().size() == 1; });
    REQUIRE(rt.worker_at(1)->ended());
    rt.join();
    REQUIRE(n == 6);
}

TEST_CASE("the number of workers changes at random under load") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    rt.start();
    std::atomic<int> n = 0;
    std::jthread resizer([&] {
        for (int i = 0; i < 200; ++i) {
            rt.set_workers(static_cast<std::size_t>(1 + i * 7 % 5));
        }
    });
    for (int i = 0; i < 2000; ++i) {
        (void)rt.spawn(count_up(&n, 3));
    }
    resizer.join();
    rt.join();
    REQUIRE(n == 6000);
}

TEST_CASE("the runtime tells how many workers run and are parked, and what they hold") {
    rota::runtime rt({.workers = 3});
    REQUIRE(rt.workers().size() == 3);
    rt.start();
    rota::event e;
    std::atomic<int> n = 0;
    for (int i = 0; i < 9; ++i) {
        (void)rt.spawn(wait_for(&e, &n));
    }
    eventually([&] {
        const auto all = rt.workers();
        return rt.blocked().size() == 9 && std::all_of(all.begin(), all.end(), [](const auto& w) {
                   return w.state == rota::baton::parked;
               });
    });
    std::size_t routines = 0;
    for (const rota::worker_status& w : rt.workers()) {
        REQUIRE_FALSE(w.draining);
        REQUIRE(w.runnable == 0);
        routines += w.routines;
    }
    REQUIRE(routines == 9);
    e.set();
    rt.join();
}

TEST_CASE("every worker is shown before its thread starts, with the parking of one's choice") {
    std::vector<std::size_t> shown;
    std::atomic<int> parkings = 0;
    rota::runtime rt({.workers = 2, .make_parking = [&](std::size_t) {
                          ++parkings;
                          return std::unique_ptr<rota::parking>(std::make_unique<rota::parker>());
                      }});
    rt.on_worker_added([&](rota::worker& w) { shown.push_back(w.index()); });
    REQUIRE(shown == std::vector<std::size_t>{0, 1});
    rt.start();
    rt.set_workers(3);
    rt.set_workers(1);
    rt.set_workers(3);
    REQUIRE(shown == std::vector<std::size_t>{0, 1, 2});
    REQUIRE(parkings == 3);
    REQUIRE(rota::runtime().worker_count() >= 1); // one for each core
}

TEST_CASE("workers come with the load, and go with it") {
    using namespace std::chrono_literals;
    rota::runtime rt({.workers = 1, .workers_max = 4});
    rt.start();
    CHECK(rt.worker_count() == 1);
    std::atomic<bool> over = false;
    std::atomic<int> ended = 0;
    constexpr auto spin = [](std::atomic<bool>* until,
                             std::atomic<int>* count) -> rota::task<void> {
        while (!until->load())
            co_await rota::yield();
        ++*count;
    };
    int spawned = 0;
    eventually([&] { // what is new goes to workers that are new
        rt.spawn(spin(&over, &ended));
        ++spawned;
        std::this_thread::sleep_for(1ms);
        return rt.worker_count() == 4;
    });
    over = true;
    eventually([&] { return rt.worker_count() == 1; });
    rt.join();
    CHECK(ended == spawned);
    rt.spawn(spin(&over, &ended))->wait_stopped();
    CHECK(ended == spawned + 1);
}

TEST_CASE("a worker needs something to sleep on") {
    CHECK_THROWS_AS(
        rota::runtime(
            {.workers = 1,
             .make_parking = [](std::size_t) { return std::unique_ptr<rota::parking>(); }}),
        std::invalid_argument);
}

TEST_CASE("a limit of stalls is not negative") {
    CHECK_THROWS_AS(rota::runtime({.workers = 1, .stall_limit = std::chrono::milliseconds(-1)}),
                    std::invalid_argument);
}

TEST_CASE("fewer workers at most than at least are refused") {
    CHECK_THROWS_AS(rota::runtime({.workers = 4, .workers_max = 2}), std::invalid_argument);
    CHECK_THROWS_AS(rota::runtime({.workers = 4, .workers_max = 257}), std::invalid_argument);
    CHECK_THROWS_AS(rota::runtime({.workers = 4, .batch_size = 0}), std::invalid_argument);
}
