#include <rota/task_group.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/sleep.hpp>
#include <rota/when_all.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

#include "death.hpp"

using namespace std::chrono_literals;

namespace {

rota::task<void> note(std::string* log, std::string what, std::chrono::milliseconds after) {
    try {
        co_await rota::sleep_for(after);
        *log += what;
    } catch (const rota::operation_cancelled&) {
        *log += "!" + what;
        throw;
    }
}

rota::task<void> fail_after(std::chrono::milliseconds after, std::string what) {
    co_await rota::sleep_for(after);
    throw std::runtime_error(what);
}

/// In which order the waits of a stopped group end is not fixed.
bool either(const std::string& text, std::string_view one, std::string_view other) {
    return text == one || text == other;
}

rota::task<void> parent_of_three(std::string* log) {
    rota::task_group group(co_await rota::current_context);
    group.spawn(note(log, "b", 20ms));
    group.spawn(note(log, "a", 10ms), "first");
    group.spawn(note(log, "c", 30ms));
    *log += std::to_string(group.running());
    co_await group.join();
    *log += ".";
}

} // namespace

TEST_CASE("children run beside the parent, and join waits for all") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto r = scheduler.spawn(parent_of_three(&log), {.name = "parent"});
    scheduler.run();
    REQUIRE(log == "3");
    REQUIRE(scheduler.routine_count() == 4);
    int named = 0;
    bool joining = false;
    for (const auto& b : scheduler.blocked()) {
        named += b.name == "parent/child" ? 1 : 0;
        joining = joining || (b.name == "parent" && b.what == "task_group::join");
    }
    REQUIRE(named == 2);
    REQUIRE(joining);
    REQUIRE(scheduler.advance(1s) == rota::run_status::no_routines);
    REQUIRE(log == "3abc.");
}

TEST_CASE("the first error stops the others and comes out of join when all have ended") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto parent = [](std::string* out) -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        group.spawn(note(out, "slow", 1h));
        group.spawn(fail_after(5ms, "first"));
        group.spawn(fail_after(5ms, "second"));
        group.spawn(note(out, "quick", 1ms));
        try {
            co_await group.join();
        } catch (const std::runtime_error& e) {
            *out += std::string(" ") + e.what();
        }
    };
    scheduler.run_task(parent(&log));
    REQUIRE(log == "quick!slow first");
}

TEST_CASE("a stop of the parent stops the children") {
    rota::inline_scheduler scheduler;
    std::string log;
    const auto r = scheduler.spawn(parent_of_three(&log));
    scheduler.advance(15ms);
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(either(log, "3a!b!c", "3a!c!b"));
}

TEST_CASE("a timeout around a group cancels and awaits its children") {
    rota::inline_scheduler scheduler;
    std::string log;
    REQUIRE_THROWS_AS(scheduler.run_task(rota::with_timeout(25ms, parent_of_three(&log))),
                      rota::timed_out);
    REQUIRE(log == "3ab!c");
    REQUIRE(scheduler.routine_count() == 0);
}

TEST_CASE("a child that has not begun when the group is stopped never begins") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto parent = [](std::string* out) -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        group.spawn(note(out, "x", 0ms));
        group.request_stop();
        group.spawn(note(out, "y", 0ms));
        co_await group.join(); // nobody stopped the parent: not an error
        *out += "joined";
    };
    scheduler.run_task(parent(&log));
    REQUIRE(log == "joined");
}

TEST_CASE("children spawn siblings, and a joined group can be used again") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto child = [](rota::task_group* g, std::string* out) -> rota::task<void> {
        g->spawn(note(out, "s", 1ms));
        co_return;
    };
    constexpr auto parent = [](std::string* out, auto make) -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        for (int i = 0; i < 2; ++i) {
            group.spawn(make(&group, out));
            co_await group.join();
            *out += ".";
        }
    };
    scheduler.run_task(parent(&log, child));
    REQUIRE(log == "s.s.");
}

TEST_CASE("with_task_group joins on every path") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto value = [](std::string* out) -> rota::task<std::string> {
        const auto body = [out](rota::task_group& group) -> rota::task<std::string> {
            group.spawn(note(out, "child", 5ms));
            co_return "result that is long enough to be allocated";
        };
        co_return co_await rota::with_task_group(body);
    };
    REQUIRE(scheduler.run_task(value(&log)).starts_with("result"));
    REQUIRE(log == "child");

    log.clear();
    constexpr auto body_throws = [](std::string* out) -> rota::task<void> {
        const auto body = [out](rota::task_group& group) -> rota::task<void> {
            group.spawn(note(out, "child", 1h));
            co_await rota::yield();
            throw std::runtime_error("body");
        };
        co_await rota::with_task_group(body);
    };
    REQUIRE_THROWS_AS(scheduler.run_task(body_throws(&log)), std::runtime_error);
    REQUIRE(log == "!child");

    log.clear();
    constexpr auto child_throws = [](std::string* out) -> rota::task<void> {
        const auto body = [out](rota::task_group& group) -> rota::task<void> {
            group.spawn(fail_after(1ms, "child"));
            co_await note(out, "body", 1h);
        };
        co_await rota::with_task_group(body);
    };
    REQUIRE_THROWS_AS(scheduler.run_task(child_throws(&log)), std::runtime_error);
    REQUIRE(log == "!body");
}

TEST_CASE("with_task_group is cancelled as a whole") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto parent = [](std::string* out) -> rota::task<void> {
        const auto body = [out](rota::task_group& group) -> rota::task<void> {
            group.spawn(note(out, "child", 1h));
            co_await note(out, "body", 1h);
        };
        co_await rota::with_task_group(body);
        *out += "never";
    };
    const auto r = scheduler.spawn(parent(&log));
    scheduler.run();
    r->request_stop();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(either(log, "!body!child", "!child!body"));
}

TEST_CASE("groups on several workers, stopped at random") {
    rota::runtime rt({.workers = 3, .batch_size = 2});
    rt.start();
    for (int round = 0; round < 100; ++round) {
        std::vector<std::string> logs(6);
        std::vector<rota::routine_ptr> parents;
        for (std::string& log : logs) {
            parents.push_back(rt.spawn(parent_of_three(&log)));
        }
        for (const rota::routine_ptr& p : parents) {
            p->request_stop();
        }
        for (const rota::routine_ptr& p : parents) {
            p->wait_stopped();
        }
    }
    rt.join();
    REQUIRE(rt.routine_count() == 0);
}

TEST_CASE("a group that is not joined ends the program") {
    REQUIRE(aborts([] {
        rota::inline_scheduler scheduler;
        constexpr auto parent = []() -> rota::task<void> {
            rota::task_group group(co_await rota::current_context);
            group.spawn(rota::sleep_for(1ms));
        };
        scheduler.run_task(parent());
    }));
}

TEST_CASE("a child can be stopped alone, through its routine") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto tell = [](rota::routine** self, std::string* out) -> rota::task<void> {
        rota::routine& mine = co_await rota::current_routine;
        *self = &mine;
        co_await note(out, "long", 1h);
    };
    constexpr auto parent = [](std::string* out, auto child) -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        rota::routine* first = nullptr;
        group.spawn(child(&first, out));
        group.spawn(note(out, "short", 2ms));
        co_await rota::sleep_for(1ms);
        first->request_stop();
        co_await group.join(); // nobody stopped the parent: not an error
        *out += ".";
    };
    scheduler.run_task(parent(&log, tell));
    REQUIRE(log == "!longshort.");
}

TEST_CASE("what a child holds is gone before its parent goes on") {
    rota::inline_scheduler scheduler;
    constexpr auto hold = [](std::shared_ptr<int> held, bool wait) -> rota::task<void> {
        if (wait) {
            co_await rota::sleep_for(1ms);
        }
        ++*held;
    };
    constexpr auto parent = [](std::weak_ptr<int>* seen, auto child) -> rota::task<void> {
        rota::task_group group(co_await rota::current_context);
        auto value = std::make_shared<int>(0);
        *seen = value;
        group.spawn(child(value, false));
        group.spawn(child(std::move(value), true));
        co_await group.join();
        REQUIRE(seen->expired());
    };
    std::weak_ptr<int> seen;
    scheduler.run_task(parent(&seen, hold));
}

TEST_CASE("a join that could not end is refused") {
    rota::inline_scheduler scheduler;
    const auto refused_by = [&](auto body) {
        std::string what;
        constexpr auto parent = [](auto joining, std::string* out) -> rota::task<void> {
            try {
                co_await rota::with_task_group(joining);
            } catch (const std::system_error& e) {
                CHECK(e.code() == std::errc::resource_deadlock_would_occur);
                *out = e.what();
            }
        };
        scheduler.run_task(parent(body, &what));
        CHECK(scheduler.routine_count() == 0);
        return what;
    };
    const auto joins = [](rota::task_group* group) -> rota::task<void> { co_await group->join(); };
    CHECK(refused_by([&](rota::task_group& group) -> rota::task<void> {
              group.spawn(joins(&group));
              co_return;
          }).starts_with("task_group: joined by a child of its own"));
    CHECK(refused_by([&](rota::task_group& group) -> rota::task<void> {
              group.spawn(rota::when_all(joins(&group), rota::sleep_for(1ms)));
              co_return;
          }).starts_with("task_group: joined by a child of its own"));
    CHECK(refused_by([&](rota::task_group& group) -> rota::task<void> {
              group.spawn(rota::sleep_for(10ms));
              co_await rota::when_all(joins(&group), joins(&group));
          }).starts_with("task_group: joined by two at once"));
    CHECK(refused_by([&](rota::task_group& group) -> rota::task<void> {
              group.spawn(rota::sleep_for(10ms));
              co_await rota::when_all(joins(&group), rota::sleep_for(1ms));
          }).empty());
}

TEST_CASE("with_task_group with a body that is a function and throws awaits the children") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto parent = [](std::string* out) -> rota::task<void> {
        const auto body = [out](rota::task_group& group) -> rota::task<int> {
            group.spawn(note(out, "child", 1h));
            throw std::runtime_error("no coroutine yet");
        };
        (void)co_await rota::with_task_group(body);
    };
    REQUIRE_THROWS_AS(scheduler.run_task(parent(&log)), std::runtime_error);
    REQUIRE(log.empty()); // it was stopped before it began
    REQUIRE(scheduler.routine_count() == 0);
}

TEST_CASE("with_task_group with a body that returns an empty task fails, and awaits the children") {
    rota::inline_scheduler scheduler;
    std::string log;
    constexpr auto parent = [](std::string* out) -> rota::task<void> {
        const auto body = [out](rota::task_group& group) -> rota::task<void> {
            group.spawn(note(out, "child", 1h));
            return {};
        };
        co_await rota::with_task_group(body);
    };
    REQUIRE_THROWS_AS(scheduler.run_task(parent(&log)), std::logic_error);
    REQUIRE(log.empty());
    REQUIRE(scheduler.routine_count() == 0);
}
