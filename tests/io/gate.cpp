#include "gate.hpp"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/yield.hpp>

using rota::io::gate;

namespace {

rota::task<void> go_in(gate* g, std::string* log, char name) {
    auto entry = g->enter();
    co_await entry;
    log->push_back(name);
}

rota::task<void> wait_empty(gate* g, std::string* log) {
    auto emptied = g->empty();
    co_await emptied;
    log->push_back('!');
}

} // namespace

TEST_CASE("no more than the limit are inside, the others follow in their order") {
    rota::inline_scheduler scheduler;
    gate g(2);
    std::string log;
    for (const char name : {'a', 'b', 'c', 'd'})
        scheduler.spawn(go_in(&g, &log, name));
    scheduler.run();
    CHECK(log == "ab");
    CHECK(g.inside() == 2);
    g.leave();
    CHECK(g.inside() == 2); // the place was handed over, nobody can slip in between
    scheduler.run();
    CHECK(log == "abc");
    g.leave();
    g.leave();
    scheduler.run();
    CHECK(log == "abcd");
    CHECK(g.inside() == 1);
    g.leave();
    CHECK(g.inside() == 0);
}

TEST_CASE("empty() waits for the last one") {
    rota::inline_scheduler scheduler;
    gate g(2);
    std::string log;
    scheduler.spawn(wait_empty(&g, &log));
    scheduler.run();
    CHECK(log == "!"); // nobody was inside
    scheduler.spawn(go_in(&g, &log, 'a'));
    scheduler.spawn(go_in(&g, &log, 'b'));
    scheduler.run();
    scheduler.spawn(wait_empty(&g, &log));
    scheduler.spawn(wait_empty(&g, &log));
    scheduler.run();
    g.leave();
    scheduler.run();
    CHECK(log == "!ab");
    g.leave();
    scheduler.run();
    CHECK(log == "!ab!!");
}

TEST_CASE("who is cancelled at the gate is not inside") {
    rota::inline_scheduler scheduler;
    gate g(1);
    std::string log;
    scheduler.spawn(go_in(&g, &log, 'a'));
    const auto waiting = scheduler.spawn(go_in(&g, &log, 'b'));
    scheduler.spawn(go_in(&g, &log, 'c'));
    scheduler.run();
    waiting->request_stop();
    scheduler.run();
    CHECK(waiting->state() == rota::routine_state::stopped);
    g.leave();
    scheduler.run();
    CHECK(log == "ac");
    CHECK(g.inside() == 1);
}

TEST_CASE("a place that was handed over before the stop request is kept") {
    rota::inline_scheduler scheduler;
    gate g(1);
    std::string log;
    scheduler.spawn(go_in(&g, &log, 'a'));
    const auto waiting = scheduler.spawn(go_in(&g, &log, 'b'));
    scheduler.run();
    g.leave();
    waiting->request_stop();
    scheduler.run();
    CHECK(log == "ab");
    CHECK(g.inside() == 1);
}

TEST_CASE("many threads go in and out, never more than the limit at once") {
    rota::runtime workers({.workers = 4});
    gate g(3);
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    constexpr auto visit = [](gate* at, std::atomic<int>* now,
                              std::atomic<int>* highest) -> rota::task<void> {
        for (int i = 0; i < 200; ++i) {
            auto entry = at->enter();
            co_await entry;
            const int count = now->fetch_add(1) + 1;
            int seen = highest->load();
            while (seen < count && !highest->compare_exchange_weak(seen, count)) {
            }
            co_await rota::yield();
            now->fetch_sub(1);
            at->leave();
        }
    };
    workers.start();
    for (int i = 0; i < 16; ++i)
        workers.spawn(visit(&g, &inside, &most));
    workers.join();
    CHECK(most <= 3);
    CHECK(g.inside() == 0);
}
