#include <rota/channel.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
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

using ints = rota::channel<int>;

rota::task<void> push_all(ints* c, std::vector<int> values, std::string* log) {
    for (const int v : values) {
        const bool pushed = co_await c->push(v);
        *log += pushed ? "+" + std::to_string(v) : "x" + std::to_string(v);
    }
}

rota::task<void> pop_some(ints* c, int count, std::string* log) {
    for (int i = 0; i < count; ++i) {
        const std::optional<int> value = co_await c->pop();
        *log += value ? "-" + std::to_string(*value) : "-end";
        if (!value) {
            co_return;
        }
    }
}

} // namespace

TEST_CASE("values pass in order, and a full channel makes the producer wait") {
    rota::inline_scheduler scheduler;
    ints c(2);
    std::string log;
    (void)scheduler.spawn(push_all(&c, {1, 2, 3, 4}, &log));
    REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
    REQUIRE(log == "+1+2");
    REQUIRE(c.size() == 2);
    REQUIRE(scheduler.blocked()[0].what == "channel::push");
    (void)scheduler.spawn(pop_some(&c, 4, &log));
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "+1+2-1-2-3+3+4-4");
}

TEST_CASE("waiting consumers are served in order, without a detour") {
    rota::inline_scheduler scheduler;
    ints c(8);
    std::string log;
    for (int i = 0; i < 3; ++i) {
        (void)scheduler.spawn(pop_some(&c, 1, &log));
    }
    scheduler.run();
    REQUIRE(c.try_push(1));
    REQUIRE(c.try_push(2));
    REQUIRE(c.size() == 0);               // they are with the consumers already
    REQUIRE(c.try_pop() == std::nullopt); // nobody overtakes
    REQUIRE(c.try_push(3));
    scheduler.run();
    REQUIRE(log == "-1-2-3");
}

TEST_CASE("waiting producers are served in order") {
    rota::inline_scheduler scheduler;
    ints c(1);
    std::string log;
    for (int i = 1; i <= 4; ++i) {
        (void)scheduler.spawn(push_all(&c, {i}, &log));
    }
    scheduler.run();
    REQUIRE_FALSE(c.try_push(9));
    for (int i = 1; i <= 4; ++i) {
        REQUIRE(c.try_pop() == i);
    }
    scheduler.run();
    REQUIRE(log == "+1+2+3+4");
}

TEST_CASE("a channel without room is a rendezvous") {
    rota::inline_scheduler scheduler;
    ints c(0);
    std::string log;
    REQUIRE_FALSE(c.try_push(1));
    (void)scheduler.spawn(push_all(&c, {1, 2}, &log));
    scheduler.run();
    REQUIRE(log.empty());
    REQUIRE(c.try_pop() == 1);
    scheduler.run();
    REQUIRE(log == "+1");
    (void)scheduler.spawn(pop_some(&c, 2, &log));
    scheduler.run();
    REQUIRE(log == "+1-2+2");
    REQUIRE(c.try_push(3)); // a consumer waits
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
}

TEST_CASE("close wakes everybody, refuses producers and lets consumers drain") {
    rota::inline_scheduler scheduler;
    ints full(2);
    std::string log;
    (void)scheduler.spawn(push_all(&full, {1, 2, 3}, &log));
    scheduler.run();
    full.close();
    full.close();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "+1+2x3");
    REQUIRE_FALSE(full.try_push(4));
    log.clear();
    scheduler.run_task(push_all(&full, {5}, &log));
    scheduler.run_task(pop_some(&full, 9, &log));
    REQUIRE(log == "x5-1-2-end");

    ints empty(2);
    log.clear();
    (void)scheduler.spawn(pop_some(&empty, 1, &log));
    (void)scheduler.spawn(pop_some(&empty, 1, &log));
    scheduler.run();
    empty.close();
    REQUIRE(scheduler.run() == rota::run_status::no_routines);
    REQUIRE(log == "-end-end");
    REQUIRE(empty.closed());
}

TEST_CASE("a cancelled wait takes and gives nothing") {
    rota::inline_scheduler scheduler;
    ints c(1);
    std::string log;
    const auto first = scheduler.spawn(pop_some(&c, 1, &log));
    const auto second = scheduler.spawn(pop_some(&c, 1, &log));
    scheduler.run();
    first->request_stop();
    REQUIRE(c.try_push(1)); // goes to the second
    scheduler.run();
    REQUIRE(log == "-1");

    const auto producer = scheduler.spawn(push_all(&c, {7, 8}, &log));
    scheduler.run();
    producer->request_stop();
    scheduler.run();
    REQUIRE(c.try_pop() == 7);
    REQUIRE(c.try_pop() == std::nullopt);
    REQUIRE(log == "-1+7");
}

TEST_CASE("a value that has been handed over survives a later stop request") {
    rota::inline_scheduler scheduler;
    ints c(1);
    std::string log;
    const auto consumer = scheduler.spawn(pop_some(&c, 1, &log));
    scheduler.run();
    REQUIRE(c.try_push(5));
    consumer->request_stop();
    scheduler.run();
    REQUIRE(log == "-5");
}

TEST_CASE("values are moved, and what is left goes with the channel") {
    rota::inline_scheduler scheduler;
    const auto witness = std::make_shared<int>(1);
    {
        rota::channel<std::shared_ptr<int>> c(3);
        REQUIRE(c.try_push(witness));
        std::shared_ptr<int> mine = witness;
        REQUIRE(c.try_push(std::move(mine)));
        REQUIRE(mine == nullptr);
        mine = witness;
        REQUIRE(c.try_push(witness));
        REQUIRE_FALSE(c.try_push(std::move(mine)));
        REQUIRE(mine == witness); // left alone
        REQUIRE(c.try_pop() == witness);
        REQUIRE(witness.use_count() == 4);
    }
    REQUIRE(witness.use_count() == 1);
    rota::channel<std::unique_ptr<std::string>> c(1);
    constexpr auto pass = [](auto* ch) -> rota::task<std::string> {
        auto value = std::make_unique<std::string>("moved through");
        co_await ch->push(std::move(value));
        auto got = co_await ch->pop();
        co_return **got;
    };
    REQUIRE(scheduler.run_task(pass(&c)) == "moved through");
}

namespace {

struct tally {
    std::mutex lock;
    std::vector<int> popped;
    std::atomic<int> pushed = 0;
};

rota::task<void> produce(ints* c, int first, int count, tally* t) {
    for (int i = 0; i < count; ++i) {
        const bool pushed = co_await c->push(first + i);
        if (!pushed) {
            co_return;
        }
        ++t->pushed;
    }
}

rota::task<void> consume(ints* c, tally* t) {
    for (;;) {
        std::optional<int> value;
        try {
            value =
                co_await rota::with_timeout(1ms, [](ints* ch) -> rota::task<std::optional<int>> {
                    co_return co_await ch->pop();
                }(c));
        } catch (const rota::timed_out&) {
            continue; // cancelled: must not have swallowed anything
        }
        if (!value) {
            co_return;
        }
        const std::lock_guard guard(t->lock);
        t->popped.push_back(*value);
    }
}

} // namespace

TEST_CASE("many producers and consumers on several workers, with timeouts, lose nothing") {
    for (const std::size_t capacity : {0U, 1U, 7U}) {
        rota::runtime rt({.workers = 3, .batch_size = 2});
        ints c(capacity);
        tally t;
        std::vector<rota::routine_ptr> producers;
        constexpr int each = 400;
        for (int p = 0; p < 5; ++p) {
            producers.push_back(rt.spawn(produce(&c, p * each, each, &t)));
        }
        for (int k = 0; k < 4; ++k) {
            (void)rt.spawn(consume(&c, &t));
        }
        rt.start();
        for (const rota::routine_ptr& p : producers) {
            p->wait_stopped();
        }
        c.close();
        rt.join();
        std::sort(t.popped.begin(), t.popped.end());
        std::vector<int> expected(5 * each);
        std::iota(expected.begin(), expected.end(), 0);
        REQUIRE(t.pushed == 5 * each);
        REQUIRE(t.popped == expected);
    }
}

TEST_CASE("producers that are cancelled at random push exactly what they say") {
    rota::runtime rt({.workers = 2});
    for (int round = 0; round < 50; ++round) {
        ints c(2);
        tally t;
        std::vector<rota::routine_ptr> producers;
        for (int p = 0; p < 4; ++p) {
            producers.push_back(rt.spawn(produce(&c, p * 1000, 20, &t)));
        }
        const auto consumer = rt.spawn(consume(&c, &t));
        rt.start();
        for (std::size_t p = 0; p < producers.size(); p += 2) {
            producers[p]->request_stop();
        }
        for (const rota::routine_ptr& p : producers) {
            p->wait_stopped();
        }
        c.close();
        consumer->wait_stopped();
        REQUIRE(static_cast<int>(t.popped.size()) == t.pushed);
        REQUIRE(t.pushed >= 40);
    }
}

namespace {

struct job {
    int id = 0;
    std::string text;
};

rota::task<void> emplace_some(rota::channel<job>* jobs) {
    std::string text(100, 'x');
    co_await jobs->emplace(1, text);
    co_await jobs->emplace(2, "a text that is too long to be kept in place");
    job named{3, std::move(text)};
    co_await jobs->push(named); // a copy
    while (co_await jobs->emplace(std::move(named)))
        named = job{named.id + 1, std::string(50, 'y')};
}

template <class T>
concept takes_braces = requires(rota::channel<T>& c) {
    c.push({});
};

} // namespace

TEST_CASE("values are made of their parts, aggregates too") {
    rota::inline_scheduler scheduler;
    rota::channel<job> jobs(4);
    const rota::routine_ptr producer = scheduler.spawn(emplace_some(&jobs));
    scheduler.run();
    CHECK(jobs.try_pop()->text == std::string(100, 'x'));
    CHECK(jobs.try_pop()->text == "a text that is too long to be kept in place");
    CHECK(jobs.try_pop()->id == 3);
    CHECK(jobs.try_pop()->text == std::string(100, 'x'));
    jobs.close();
    scheduler.run();
    CHECK(jobs.try_pop()->text == std::string(50, 'y'));
    CHECK(producer->state() == rota::routine_state::stopped);
}

TEST_CASE("what the compiler would destroy twice is not pushed without a name") {
    STATIC_REQUIRE(takes_braces<std::string>);
    STATIC_REQUIRE(takes_braces<std::pair<int, int>>);
    STATIC_REQUIRE(takes_braces<job> != rota::detail::destroyed_twice<job>);
    STATIC_REQUIRE_FALSE(rota::detail::destroyed_twice<std::pair<int, std::string>>);
    STATIC_REQUIRE_FALSE(rota::detail::destroyed_twice<std::unique_ptr<int>>);
}
