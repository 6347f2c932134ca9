#include <rota/routine.hpp>

#include <atomic>
#include <memory>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <sys/resource.h>

#include <rota/event.hpp>
#include <rota/executor.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/worker.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<void> look_at_itself(rota::routine_state* seen) {
    rota::routine& self = co_await rota::current_routine;
    *seen = self.state();
    co_await rota::sleep_for(1s);
}

rota::task<void> wait_for(rota::event* e) { co_await e->wait(); }

rota::task<void> wait_nested(rota::event* e) { co_await wait_for(e); }

rota::task<void> fail() {
    throw std::runtime_error("on purpose");
    co_return;
}

} // namespace

TEST_CASE("states go ready, running, blocked, ready, stopped") {
    rota::inline_scheduler scheduler;
    auto seen = rota::routine_state::stopped;
    const auto r = scheduler.spawn(look_at_itself(&seen), {.name = "narcissus"});
    REQUIRE(r->state() == rota::routine_state::ready);
    REQUIRE(r->name() == "narcissus");
    scheduler.run();
    REQUIRE(seen == rota::routine_state::running);
    REQUIRE(r->state() == rota::routine_state::blocked);
    REQUIRE(&r->home() == &scheduler.home());
    REQUIRE(&r->owner() == &scheduler);
    scheduler.advance(1s);
    REQUIRE(r->state() == rota::routine_state::stopped);
    REQUIRE(r->error() == nullptr);
    r->wait_stopped(); // returns at once
    REQUIRE(to_string(r->state()) == "stopped");
    REQUIRE(to_string(rota::routine_state::blocked) == "blocked");
}

TEST_CASE("ids are unique and names need not be") {
    rota::inline_scheduler scheduler;
    std::set<std::uint64_t> ids;
    for (int i = 0; i < 50; ++i) {
        ids.insert(scheduler.spawn(rota::sleep_for(0s), {.name = "same"})->id());
    }
    REQUIRE(ids.size() == 50);
    scheduler.advance(1ms);
}

TEST_CASE("a blocked routine tells what it waits for, where, since when and on which worker") {
    rota::event e;
    rota::inline_scheduler scheduler;
    scheduler.advance(5s);
    const auto r = scheduler.spawn(wait_nested(&e), {.name = "waiter"});
    REQUIRE_FALSE(r->blocked_on());
    scheduler.run();
    scheduler.advance(7s);
    const auto b = r->blocked_on();
    REQUIRE(b);
    REQUIRE(b->id == r->id());
    REQUIRE(b->name == "waiter");
    REQUIRE(b->what == "event");
    REQUIRE(b->function.find("wait_for") != std::string::npos);
    REQUIRE(b->file.ends_with("routine.cpp"));
    REQUIRE(b->line > 0);
    REQUIRE(scheduler.now() - b->since == 7s);
    REQUIRE(b->worker == 0);
    e.set();
    REQUIRE_FALSE(r->blocked_on());
    scheduler.run();
    REQUIRE_FALSE(r->blocked_on());
}

TEST_CASE(
    "an exception is kept; a stop before the first step still runs the body to its first wait") {
    rota::inline_scheduler scheduler([](const rota::routine&, const std::exception_ptr&) {});
    const auto failed = scheduler.spawn(fail());
    scheduler.run();
    REQUIRE_THROWS_AS(std::rethrow_exception(failed->error()), std::runtime_error);

    auto seen = rota::routine_state::stopped;
    const auto stopped = scheduler.spawn(look_at_itself(&seen));
    stopped->request_stop();
    REQUIRE(stopped->stop_token().stop_requested());
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(seen == rota::routine_state::running);
    REQUIRE(stopped->error() == nullptr);
}

TEST_CASE("a pointer keeps the routine, not its frame") {
    auto witness = std::make_shared<int>(1);
    rota::inline_scheduler scheduler;
    constexpr auto body = [](std::shared_ptr<int>) -> rota::task<void> { co_return; };
    rota::routine_ptr a = scheduler.spawn(body(witness));
    REQUIRE(witness.use_count() == 2);
    scheduler.run();
    REQUIRE(witness.use_count() == 1);
    rota::routine_ptr b = a;
    rota::routine_ptr c = std::move(a);
    REQUIRE_FALSE(a);
    REQUIRE(b.get() == c.get());
    b = rota::routine_ptr();
    c = b;
    REQUIRE_FALSE(c);
}

TEST_CASE("a thread waits for the end of a routine, and sees all that it did") {
    rota::runtime rt({.workers = 2});
    rt.start();
    for (int i = 0; i < 300; ++i) {
        int value = 0;
        constexpr auto body = [](int* out) -> rota::task<void> {
            co_await rota::yield();
            *out = 1;
        };
        const auto r = rt.spawn(body(&value));
        std::jthread other([r] { r->wait_stopped(); });
        r->wait_stopped();
        REQUIRE(value == 1);
    }
}

TEST_CASE("a thread that waits for one routine sleeps while others end") {
    rota::runtime rt({.workers = 1});
    rt.start();
    rota::event go;
    constexpr auto until = [](rota::event* e) -> rota::task<void> { co_await e->wait(); };
    std::vector<rota::routine_ptr> waited_for;
    for (int i = 0; i < 8; ++i)
        waited_for.push_back(rt.spawn(until(&go)));
    std::vector<long> switches(waited_for.size());
    std::counting_semaphore<8> there(0);
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < waited_for.size(); ++i) {
        waiting.emplace_back([&, i] {
            there.release();
            waited_for[i]->wait_stopped();
            rusage used{};
            ::getrusage(RUSAGE_THREAD, &used);
            switches[i] = used.ru_nvcsw + used.ru_nivcsw;
        });
    }
    for (std::size_t i = 0; i < waiting.size(); ++i)
        there.acquire();
    std::binary_semaphore done(0);
    constexpr auto body = [](std::binary_semaphore* end) -> rota::task<void> {
        end->release();
        co_return;
    };
    std::vector<rota::routine_ptr> others; // kept, so that each is elsewhere
    for (int i = 0; i < 5'000; ++i) {
        others.push_back(rt.spawn(body(&done)));
        done.acquire();
    }
    go.set();
    waiting.clear(); // joins them
    for (const long each : switches)
        CHECK(each < 50);
}

TEST_CASE("listings while routines block and wake are whole") {
    rota::runtime rt({.workers = 2});
    rt.start();
    rota::event go;
    std::atomic<bool> stop = false;
    constexpr auto busy = [](rota::event* e, std::atomic<bool>* end) -> rota::task<void> {
        while (!*end) {
            e->reset();
            co_await rota::sleep_for(0ms);
            e->set();
            co_await e->wait();
        }
    };
    std::vector<rota::routine_ptr> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(rt.spawn(busy(&go, &stop), {.name = "busy"}));
    }
    bool whole = true;
    for (int i = 0; i < 2000; ++i) {
        for (const rota::blocked_routine& b : rt.blocked()) {
            whole = whole && b.name == "busy" && (b.what == "sleep" || b.what == "event") &&
                    !b.function.empty() && b.line != 0;
        }
    }
    stop = true;
    go.set();
    for (const rota::routine_ptr& r : all) {
        r->request_stop();
        r->wait_stopped();
    }
    REQUIRE(whole);
}

TEST_CASE("what is known of a routine is known beyond its runtime") {
    rota::routine_ptr kept;
    {
        rota::runtime rt({.workers = 1});
        rota::event never;
        kept = rt.spawn(never.wait(), {.name = "kept"});
        rt.start();
        while (!kept->blocked_on())
            std::this_thread::yield();
        rt.stop();
    }
    REQUIRE(kept->state() == rota::routine_state::stopped);
    const rota::blocked_routine last = kept->last_wait();
    REQUIRE(last.name == "kept");
    REQUIRE(last.what == "event");
    REQUIRE(last.worker == 0);
    REQUIRE_FALSE(kept->blocked_on());
    kept->request_stop();
    kept->wait_stopped();
}
