// Groups of children, and threads, when there is no memory for one of them.

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/detail/quiet_thread.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/semaphore.hpp>
#include <rota/task_group.hpp>
#include <rota/under.hpp>
#include <rota/when_all.hpp>
#include <rota/when_any.hpp>
#include <rota/when_settled.hpp>
#include <rota/with_timeout.hpp>
#include <rota/yield.hpp>

#include "limited_memory.hpp"

using test::allocations_left;

namespace {

struct counts {
    int begun = 0;
    int ended = 0;
};

struct in_child {
    explicit in_child(counts* c) : of(c) { ++of->begun; }
    ~in_child() { ++of->ended; }
    in_child(const in_child&) = delete;
    in_child& operator=(const in_child&) = delete;
    counts* of;
};

rota::task<int> child(counts* c) {
    const in_child here(c);
    for (int i = 0; i < 3; ++i)
        co_await rota::yield();
    co_return 1;
}

rota::task<void> child_without_value(counts* c) {
    const in_child here(c);
    for (int i = 0; i < 3; ++i)
        co_await rota::yield();
}

rota::task<void> all_of_some(counts* c) {
    std::vector<rota::task<int>> children;
    for (int i = 0; i < 4; ++i)
        children.push_back(child(c));
    (void)co_await rota::when_all(std::move(children));
}

rota::task<void> all_without_values(counts* c) {
    std::vector<rota::task<void>> children;
    for (int i = 0; i < 4; ++i)
        children.push_back(child_without_value(c));
    co_await rota::when_all(std::move(children));
}

rota::task<void> all_of_these(counts* c) {
    (void)co_await rota::when_all(child(c), child_without_value(c), child(c));
}

rota::task<void> any_of_some(counts* c) {
    std::vector<rota::task<int>> children;
    for (int i = 0; i < 4; ++i)
        children.push_back(child(c));
    (void)co_await rota::when_any(std::move(children));
}

rota::task<void> any_of_these(counts* c) {
    (void)co_await rota::when_any(child(c), child_without_value(c), child(c));
}

rota::task<void> in_a_group(counts* c) {
    const auto body = [c](rota::task_group& group) -> rota::task<void> {
        group.spawn(child_without_value(c));
        group.spawn(child_without_value(c));
        return child_without_value(c);
    };
    co_await rota::with_task_group(body);
}

rota::task<void> with_allocations(rota::task<void> body, long count, bool* failed) {
    allocations_left = count;
    try {
        co_await std::move(body);
    } catch (const std::bad_alloc&) {
        *failed = true;
    }
    allocations_left = -1;
}

/// Lets the first, the second, ... allocation fail, until all can be had.
void run_short(rota::task<void> (*body)(counts*)) {
    bool failed = true;
    for (long count = 0; failed && count < 1000; ++count) {
        failed = false;
        counts seen;
        std::size_t left = 0;
        // A thread of its own, which has no frames put by.
        std::thread([&] {
            rota::inline_scheduler scheduler;
            scheduler.run_task(with_allocations(body(&seen), count, &failed));
            left = scheduler.routine_count() + scheduler.home().places();
        }).join();
        REQUIRE(left == 0);
        REQUIRE(seen.begun == seen.ended);
    }
    REQUIRE_FALSE(failed);
}

} // namespace

TEST_CASE("children that there is no memory for fail, and those that run are awaited") {
    run_short(all_of_some);
    run_short(all_without_values);
    run_short(all_of_these);
    run_short(any_of_some);
    run_short(any_of_these);
    run_short(in_a_group);
}

namespace {

/// What waits are for: a value in each channel, and a permit.
struct goods {
    rota::channel<int> a{1};
    rota::channel<int> b{1};
    rota::semaphore s{1};
    int delivered = 0;
    goods() {
        static_cast<void>(a.try_push(1));
        static_cast<void>(b.try_push(2));
    }
    [[nodiscard]] std::size_t there() const { return a.size() + b.size() + s.available(); }
};

rota::task<void> any_of_waits(goods* g) {
    auto won = co_await rota::when_any(g->a.pop(), g->b.pop(), g->s.acquire());
    if (auto* const permit = std::get_if<2>(&won))
        permit->detach();
    ++g->delivered;
}

rota::task<void> settled_waits(goods* g) {
    auto [a, b, s] = co_await rota::when_settled(g->a.pop(), g->b.pop(), g->s.acquire());
    if (s)
        s.value->detach();
    g->delivered = int{a.value.has_value()} + int{b.value.has_value()} + int{s.value.has_value()};
}

rota::task<void> wait_in_time(goods* g) {
    (void)co_await rota::with_timeout(std::chrono::seconds(1), g->a.pop());
    ++g->delivered;
    (void)co_await rota::under(std::stop_token(), g->b.pop());
    ++g->delivered;
}

rota::task<void> child_takes(goods* g) {
    rota::task_group group(co_await rota::current_context);
    group.spawn([g]() -> rota::task<void> {
        (void)co_await g->a.pop();
        ++g->delivered;
    });
    group.spawn(rota::yield());
    co_await group.join();
}

} // namespace

TEST_CASE("a wait that there is no memory for takes nothing") {
    for (const auto body : {any_of_waits, settled_waits, wait_in_time, child_takes}) {
        bool failed = true;
        for (long count = 0; failed && count < 1000; ++count) {
            failed = false;
            goods all;
            std::size_t left = 0;
            std::thread([&] {
                rota::inline_scheduler scheduler;
                scheduler.run_task(with_allocations(body(&all), count, &failed));
                left = scheduler.routine_count() + scheduler.home().places() +
                       scheduler.home().timers().armed();
            }).join();
            REQUIRE(left == 0);
            REQUIRE(all.there() + static_cast<std::size_t>(all.delivered) == 3);
        }
        REQUIRE_FALSE(failed);
    }
}

TEST_CASE("a thread that there is no memory for is not waited for") {
    bool failed = true;
    for (long count = 0; failed && count < 1000; ++count) {
        failed = false;
        std::atomic<bool> over{false};
        allocations_left = count;
        try {
            const rota::quiet_thread t =
                rota::start_quiet_thread("short", [&] { over.wait(false); });
            allocations_left = -1;
            over = true;
            over.notify_all();
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        allocations_left = -1;
    }
    REQUIRE_FALSE(failed);
}
