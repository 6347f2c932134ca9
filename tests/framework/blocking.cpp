#include <rota/blocking.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>

#include "death.hpp"

namespace {

struct here_and_there {
    std::thread::id worker;
    std::thread::id other;
    std::thread::id afterwards;
};

rota::task<here_and_there> note_threads() {
    here_and_there seen;
    seen.worker = std::this_thread::get_id();
    seen.other = co_await rota::blocking([] { return std::this_thread::get_id(); });
    seen.afterwards = std::this_thread::get_id();
    co_return seen;
}

rota::task<void> fail() {
    co_await rota::blocking([] { throw std::runtime_error("no such file"); });
}

rota::task<std::unique_ptr<int>> move_through(std::unique_ptr<int> value) {
    auto work = [&value] {
        ++*value;
        return std::move(value);
    };
    auto result = co_await rota::blocking(std::ref(work));
    co_return result;
}

rota::task<int> answer() { co_return 42; }

/// Work that says when it begins and waits until it may end.
struct held_work {
    std::binary_semaphore begun{0};
    std::binary_semaphore may_end{0};
    std::atomic<int> done{0};
};

rota::task<void> hold(held_work* work) {
    co_await rota::blocking([work] {
        work->begun.release();
        work->may_end.acquire();
        ++work->done;
    });
}

rota::task<void> count(std::atomic<int>* counter, std::atomic<int>* at_once,
                       std::atomic<int>* most_at_once) {
    co_await rota::blocking([=] {
        const int now = ++*at_once;
        int most = most_at_once->load();
        while (most < now && !most_at_once->compare_exchange_weak(most, now)) {
        }
        std::this_thread::yield();
        --*at_once;
    });
    ++*counter;
}

} // namespace

TEST_CASE("blocking work runs on another thread, and the routine goes on on its worker") {
    rota::runtime rt({.workers = 1});
    const here_and_there seen = rt.block_on(note_threads());
    CHECK(seen.other != seen.worker);
    CHECK(seen.afterwards == seen.worker);
}

TEST_CASE("values move, exceptions come back") {
    rota::runtime rt({.workers = 1});
    CHECK(*rt.block_on(move_through(std::make_unique<int>(41))) == 42);
    CHECK_THROWS_AS(rt.block_on(fail()), std::runtime_error);
}

TEST_CASE("the worker serves others meanwhile") {
    rota::runtime rt({.workers = 1});
    rt.start();
    held_work work;
    const auto holder = rt.spawn(hold(&work));
    work.begun.acquire();
    CHECK(rt.block_on(answer()) == 42); // on the same worker
    CHECK(work.done == 0);
    work.may_end.release();
    holder->wait_stopped();
    CHECK(work.done == 1);
}

TEST_CASE("no more threads than allowed, and everybody gets a turn") {
    rota::runtime rt({.workers = 2, .blocking_threads = 3});
    std::atomic<int> done{0};
    std::atomic<int> at_once{0};
    std::atomic<int> most{0};
    for (int i = 0; i < 500; ++i)
        (void)rt.spawn(count(&done, &at_once, &most));
    rt.join();
    CHECK(done == 500);
    CHECK(most <= 3);
    CHECK(rt.blocking_threads()->read().threads <= 3);
}

TEST_CASE("a stop: what waits does not begin, what has begun is awaited") {
    rota::runtime rt({.workers = 1, .blocking_threads = 1});
    rt.start();
    held_work first;
    held_work second;
    const auto runs = rt.spawn(hold(&first));
    first.begun.acquire();
    const auto waits = rt.spawn(hold(&second));
    waits->request_stop();
    waits->wait_stopped();
    CHECK(second.done == 0);
    CHECK_FALSE(second.begun.try_acquire());
    runs->request_stop();
    CHECK(runs->state() != rota::routine_state::stopped);
    first.may_end.release();
    runs->wait_stopped();
    CHECK(first.done == 1);
    CHECK(runs->error() == nullptr);
}

TEST_CASE("stopping the runtime waits for the work under way") {
    held_work work;
    {
        rota::runtime rt({.workers = 1});
        (void)rt.spawn(hold(&work));
        rt.start();
        work.begun.acquire();
        std::jthread later([&] { work.may_end.release(); });
    }
    CHECK(work.done == 1);
}

TEST_CASE("stops that race with the end of the work lose nothing") {
    rota::runtime rt({.workers = 2, .blocking_threads = 2});
    rt.start();
    for (int i = 0; i < 500; ++i) {
        std::atomic<int> done{0};
        std::atomic<int> at_once{0};
        std::atomic<int> most{0};
        const auto r = rt.spawn(count(&done, &at_once, &most));
        std::jthread stopper([&] { r->request_stop(); });
        r->wait_stopped();
        stopper.join();
        CHECK(at_once == 0);
        CHECK(r->error() == nullptr);
    }
}

TEST_CASE("without threads the work runs on the spot") {
    rota::inline_scheduler scheduler;
    const here_and_there seen = scheduler.run_task(note_threads());
    CHECK(seen.other == seen.worker);
    CHECK_THROWS_AS(scheduler.run_task(fail()), std::runtime_error);
}

TEST_CASE("without threads, too, work does not begin once a stop has been requested") {
    rota::inline_scheduler scheduler;
    held_work work;
    const auto r = scheduler.spawn(hold(&work));
    r->request_stop();
    CHECK(scheduler.run() == rota::run_status::no_routines);
    CHECK(work.done == 0);
    CHECK_FALSE(work.begun.try_acquire());
}

TEST_CASE("work cannot wait for the end of its own runtime") {
    rota::runtime rt({.workers = 1});
    rota::runtime other({.workers = 1});
    const auto try_it = [&]() -> rota::task<int> {
        int refused = 0;
        auto work = [&] {
            try {
                rt.stop();
            } catch (const std::logic_error&) {
                ++refused;
            }
            try {
                rt.join();
            } catch (const std::logic_error&) {
                ++refused;
            }
            (void)rt.block_on(answer());
            (void)other.block_on(answer());
            other.stop();
        };
        co_await rota::blocking(std::ref(work));
        co_return refused;
    };
    REQUIRE(rt.block_on(try_it) == 2);
}

TEST_CASE("a runtime that is destroyed on a thread of its own ends the program, with words") {
    const std::string words = last_words([] {
        auto* const rt = new rota::runtime({.workers = 1});
        rt->block_on(rota::blocking([rt] { delete rt; }));
    });
    REQUIRE(words.find("a destructor") != std::string::npos);
}
