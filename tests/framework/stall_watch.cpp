#include <rota/stall_watch.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <unistd.h>

#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

#include "posted_gate.hpp"

using namespace std::chrono_literals;
using rota::stall_report;
using rota::task;

namespace {

struct holding {
    std::binary_semaphore begun{0};
    posted_gate may_end;
};

/// Reports, as they come.
class notes {
public:
    void add(const stall_report& r) {
        const std::lock_guard guard(lock_);
        all_.push_back(r);
    }
    [[nodiscard]] std::vector<stall_report> await(std::size_t count) const {
        for (;;) {
            {
                const std::lock_guard guard(lock_);
                if (all_.size() >= count)
                    return all_;
            }
            std::this_thread::yield();
        }
    }
    [[nodiscard]] std::size_t count(const std::string& name) const {
        const std::lock_guard guard(lock_);
        std::size_t result = 0;
        for (const stall_report& r : all_)
            result += r.routine.name == name ? 1 : 0;
        return result;
    }

private:
    mutable std::mutex lock_;
    std::vector<stall_report> all_;
};

[[gnu::noinline]] void sit(holding* h) {
    h->begun.release();
    h->may_end.acquire();
}

task<void> hold_after_a_wait(holding* h) {
    co_await rota::sleep_for(1ms);
    sit(h);
}

task<void> hold(holding* h) {
    sit(h);
    co_return;
}

/// A call that ends when a handler has run, as it does for the stack.
[[gnu::noinline]] void wait_for_a_signal(std::atomic<bool>* interrupted) {
    *interrupted = ::pause() < 0;
}

task<void> in_a_call(std::atomic<bool>* interrupted) {
    wait_for_a_signal(interrupted);
    co_return;
}

/// Long, but in steps.
task<void> turn_over(std::atomic<bool>* enough) {
    while (!*enough)
        co_await rota::yield();
}

task<std::size_t> my_worker() {
    rota::routine& self = co_await rota::current_routine;
    co_return self.home().index();
}

} // namespace

TEST_CASE("a routine that holds its worker is reported once, and its end once") {
    notes seen;
    rota::runtime rt({.workers = 2,
                      .stall_limit = 60ms,
                      .on_stall = [&seen](const stall_report& r) { seen.add(r); }});
    rt.start();
    holding h;
    const auto r = rt.spawn(hold_after_a_wait(&h), {.name = "stubborn", .on = rt.worker_at(1)});
    h.begun.acquire();
    const stall_report begin = seen.await(1).front();
    CHECK_FALSE(begin.ended);
    CHECK(begin.worker == 1);
    CHECK(begin.routine.id == r->id());
    CHECK(begin.routine.name == "stubborn");
    CHECK(begin.routine.what == "sleep");
    CHECK(begin.routine.file.ends_with("stall_watch.cpp"));
    CHECK(begin.length >= 60ms);
    const std::string text = to_string(begin);
    CAPTURE(text);
    CHECK(text.starts_with("routine stubborn#" + std::to_string(r->id()) + " holds worker 1 for "));
    CHECK(text.find("last at sleep in ") != std::string::npos);
    CHECK(text.find("::sit\n") != std::string::npos);
    h.may_end.release();
    const stall_report end = seen.await(2)[1];
    CHECK(end.ended);
    CHECK(end.routine.id == r->id());
    CHECK(end.length >= begin.length);
    CHECK(to_string(end).find("has held worker 1 for ") != std::string::npos);
    rt.stop();
    CHECK(seen.count("stubborn") == 2);
}

TEST_CASE("a watch whose reports fail goes on") {
    std::counting_semaphore<> reports(0);
    holding h;
    rota::runtime rt({.workers = 1, .stall_limit = 100ms, .on_stall = [&](const stall_report&) {
                          reports.release();
                          throw std::runtime_error("the log is full");
                      }});
    rt.start();
    const rota::routine_ptr r = rt.spawn(hold(&h), {.name = "holder"});
    h.begun.acquire();
    reports.acquire();
    h.may_end.release();
    r->wait_stopped();
    reports.acquire(); // of the end: it has gone on
    rt.stop();
    CHECK_FALSE(reports.try_acquire());
}

TEST_CASE("what the report itself interrupts is reported") {
    notes seen;
    rota::runtime rt({.workers = 1,
                      .stall_limit = 60ms,
                      .on_stall = [&seen](const stall_report& r) { seen.add(r); }});
    std::atomic<bool> interrupted = false;
    const auto r = rt.spawn(in_a_call(&interrupted), {.name = "in a call"});
    rt.start();
    const std::vector<stall_report> both = seen.await(2);
    CHECK(both[0].routine.name == "in a call");
    CHECK(to_string(both[0]).find("::wait_for_a_signal\n") != std::string::npos);
    CHECK(both[1].ended);
    r->wait_stopped();
    CHECK(interrupted);
}

TEST_CASE("new routines go elsewhere while a worker is held up, though nothing is to be reported") {
    notes seen;
    rota::runtime rt({.workers = 2, .stall_limit = 0ms, .on_stall = [&seen](const stall_report& r) {
                          seen.add(r);
                      }});
    rt.start();
    holding h;
    const auto r = rt.spawn(hold(&h), {.name = "stubborn", .on = rt.worker_at(0)});
    h.begun.acquire();
    while (!rt.worker_at(0)->held_up())
        std::this_thread::yield();
    for (int i = 0; i < 20; ++i)
        CHECK(rt.block_on(my_worker()) == 1);
    h.may_end.release();
    r->wait_stopped();
    while (rt.worker_at(0)->held_up())
        std::this_thread::yield();
    rt.stop();
    CHECK(seen.count("stubborn") == 0);
}

TEST_CASE("a routine that lets others have a turn is not reported, and one that starts late is") {
    notes seen;
    rota::runtime rt({.workers = 1, .stall_limit = 1s, .on_stall = [&seen](const stall_report& r) {
                          seen.add(r);
                      }});
    rt.start();
    std::atomic<bool> enough{false};
    const auto polite = rt.spawn(turn_over(&enough), {.name = "polite"});
    // A worker that comes later is watched, too; the report shows that so much time has passed.
    rt.set_workers(2);
    holding h;
    const auto r = rt.spawn(hold(&h), {.name = "stubborn", .on = rt.worker_at(1)});
    h.begun.acquire();
    while (seen.count("stubborn") == 0)
        std::this_thread::yield();
    enough = true;
    h.may_end.release();
    polite->wait_stopped();
    r->wait_stopped();
    rt.stop();
    CHECK(seen.count("polite") == 0);
}

TEST_CASE("the watch sleeps when all workers do, and is awake again with them") {
    std::atomic<int> ticks{0};
    notes seen;
    rota::runtime rt({.workers = 1,
                      .stall_limit = 60ms,
                      .on_stall = [&seen](const stall_report& r) { seen.add(r); },
                      .on_tick =
                          [&ticks] {
                              ++ticks;
                              return false;
                          }});
    rt.start();
    // Once it dozes there are no more ticks, however long one waits.
    for (int before = -1; before != ticks;) {
        before = ticks;
        std::this_thread::sleep_for(1200ms);
    }
    CHECK(ticks > 0);
    holding h;
    const auto r = rt.spawn(hold(&h), {.name = "stubborn"});
    h.begun.acquire();
    CHECK_FALSE(seen.await(1).front().ended);
    h.may_end.release();
    r->wait_stopped();
}

TEST_CASE("what holds a worker need not be a routine") {
    struct posted : rota::runnable {
        posted() : runnable(&run) {}
        static void run(rota::runnable& self) noexcept { sit(&static_cast<posted&>(self).h); }
        holding h;
    } p;
    notes seen;
    rota::runtime rt({.workers = 1,
                      .stall_limit = 60ms,
                      .on_stall = [&seen](const stall_report& r) { seen.add(r); }});
    rt.start();
    rt.worker_at(0)->post(p);
    p.h.begun.acquire();
    CHECK(to_string(seen.await(1).front()).starts_with("something posted holds worker 0 for "));
    p.h.may_end.release();
}

TEST_CASE("what the watch calls cannot wait for its end") {
    std::atomic<bool> refused{false};
    rota::runtime* own = nullptr;
    rota::runtime rt({.workers = 1, .on_tick = [&] {
                          try {
                              own->stop();
                          } catch (const std::logic_error&) {
                              refused = true;
                          }
                      }});
    own = &rt;
    rt.start();
    while (!refused)
        std::this_thread::yield();
}
