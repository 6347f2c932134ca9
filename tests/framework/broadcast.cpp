#include <rota/broadcast.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/runtime.hpp>
#include <rota/when_any.hpp>

using namespace rota;

namespace {

using numbers = broadcast<int>;

task<void> take(numbers::receiver* from, std::vector<int>* into, std::size_t most = 1'000'000) {
    while (into->size() < most) {
        const std::optional<int> next = co_await from->next();
        if (!next)
            break;
        into->push_back(*next);
    }
}

} // namespace

TEST_CASE("every receiver gets all that is sent from when it is made") {
    inline_scheduler scheduler;
    numbers all(8);
    CHECK(all.send(1) == 0);
    numbers::receiver first(all);
    std::vector<int> got_first;
    scheduler.spawn(take(&first, &got_first));
    scheduler.run();
    CHECK(all.send(2) == 1);
    numbers::receiver second(all);
    std::vector<int> got_second;
    scheduler.spawn(take(&second, &got_second));
    CHECK(all.send(3) == 2);
    CHECK(all.send(4) == 2);
    scheduler.run();
    all.send(5);
    all.close();
    CHECK(all.send(6) == 0);
    scheduler.run();
    CHECK(got_first == std::vector{2, 3, 4, 5});
    CHECK(got_second == std::vector{3, 4, 5});
    CHECK(scheduler.routine_count() == 0);
}

TEST_CASE("a receiver that lags misses what is oldest, and is told how much") {
    inline_scheduler scheduler;
    numbers all(4);
    numbers::receiver slow(all);
    for (int i = 0; i < 10; ++i)
        all.send(i);
    std::vector<int> got;
    scheduler.spawn(take(&slow, &got, 4));
    scheduler.run();
    CHECK(got == std::vector{6, 7, 8, 9});
    CHECK(slow.missed() == 6);
}

TEST_CASE("a receiver that shall not lag gets nothing more once it has") {
    inline_scheduler scheduler;
    numbers all(4);
    numbers::receiver strict(all, lag_policy::end);
    numbers::receiver other(all);
    for (int i = 0; i < 4; ++i)
        all.send(i);
    std::vector<int> got;
    scheduler.spawn(take(&strict, &got, 2));
    scheduler.run();
    CHECK(got == std::vector{0, 1});
    for (int i = 4; i < 7; ++i)
        all.send(i);
    scheduler.spawn(take(&strict, &got));
    scheduler.run();
    CHECK(got == std::vector{0, 1});
    CHECK(strict.missed() == 1);
    std::vector<int> got_other;
    scheduler.spawn(take(&other, &got_other, 4));
    scheduler.run();
    CHECK(got_other == std::vector{3, 4, 5, 6});
}

TEST_CASE("one that lags while it is on its way goes on with what is there") {
    inline_scheduler scheduler;
    numbers all(2);
    numbers::receiver r(all);
    std::vector<int> got;
    scheduler.spawn(take(&r, &got, 2));
    scheduler.run(); // it waits
    for (int i = 0; i < 5; ++i)
        all.send(i); // the first has woken it, and is gone when it runs
    scheduler.run();
    CHECK(got == std::vector{3, 4});
    CHECK(r.missed() == 3);
}

TEST_CASE("a wait that is cancelled has taken nothing") {
    inline_scheduler scheduler;
    numbers all(4);
    numbers::receiver r(all);
    std::vector<int> got;
    const routine_ptr waits = scheduler.spawn(take(&r, &got));
    scheduler.run();
    waits->request_stop();
    scheduler.run();
    CHECK(waits->state() == routine_state::stopped);
    all.send(7);
    scheduler.spawn(take(&r, &got, 1));
    scheduler.run();
    CHECK(got == std::vector{7});
}

TEST_CASE("a value is there once, however many receive it") {
    inline_scheduler scheduler;
    const auto value = std::make_shared<const std::string>("to all");
    broadcast<std::shared_ptr<const std::string>> all(2);
    using receiver = broadcast<std::shared_ptr<const std::string>>::receiver;
    std::vector<std::unique_ptr<receiver>> receivers;
    std::size_t same = 0;
    constexpr auto compare = [](receiver* r, const std::string* with,
                                std::size_t* n) -> task<void> {
        const std::shared_ptr<const std::string> mine = (co_await r->next()).value();
        *n += mine.get() == with ? 1 : 0;
    };
    for (int i = 0; i < 20; ++i) {
        receivers.push_back(std::make_unique<receiver>(all));
        scheduler.spawn(compare(receivers.back().get(), value.get(), &same));
    }
    all.send(value);
    scheduler.run();
    CHECK(same == 20);
    all.send(nullptr);
    all.send(nullptr);
    CHECK(value.use_count() == 1); // what is replaced goes
}

TEST_CASE("a capacity of nothing is refused") {
    CHECK_THROWS_AS(numbers(0), std::invalid_argument);
}

TEST_CASE("senders and receivers on several workers miss nothing while there is room") {
    constexpr int senders = 3;
    constexpr int each = 2'000;
    runtime rt({.workers = 3});
    numbers all(senders * each);
    std::vector<std::unique_ptr<numbers::receiver>> receivers;
    std::vector<std::vector<int>> got(6);
    std::vector<routine_ptr> routines;
    for (std::vector<int>& into : got) {
        receivers.push_back(std::make_unique<numbers::receiver>(all));
        routines.push_back(rt.spawn(take(receivers.back().get(), &into)));
    }
    rt.start();
    std::vector<std::thread> threads;
    for (int s = 0; s < senders; ++s) {
        threads.emplace_back([&all, s] {
            for (int i = 0; i < each; ++i)
                all.send(s * each + i);
        });
    }
    for (std::thread& t : threads)
        t.join();
    all.close();
    for (const routine_ptr& r : routines)
        r->wait_stopped();
    for (const std::vector<int>& one : got) {
        CHECK(one == got.front()); // in one order for all
        CHECK(one.size() == static_cast<std::size_t>(senders * each));
        CHECK(std::accumulate(one.begin(), one.end(), 0L) ==
              static_cast<long>(senders) * each * (senders * each - 1) / 2);
    }
}

TEST_CASE("of two broadcasts in a race one is received from, and the other keeps its value") {
    inline_scheduler scheduler;
    numbers a(4);
    numbers b(4);
    numbers::receiver from_a(a);
    numbers::receiver from_b(b);
    std::vector<int> got;
    scheduler.spawn([&]() -> task<void> {
        for (int i = 0; i < 4; ++i) {
            const auto first = co_await when_any(from_a.next(), from_b.next());
            got.push_back(first.index() == 0 ? *std::get<0>(first) : *std::get<1>(first));
        }
    });
    scheduler.run();
    a.send(1);
    b.send(2);
    scheduler.run();
    b.send(3);
    a.send(4);
    scheduler.run();
    CHECK(std::ranges::is_permutation(got, std::vector{1, 2, 3, 4}));
    CHECK(scheduler.routine_count() == 0);
}

TEST_CASE("a broadcast that loses against a channel keeps its value") {
    inline_scheduler scheduler;
    numbers all(4);
    numbers::receiver from(all);
    channel<int> other(1);
    const routine_ptr waits = scheduler.spawn([&]() -> task<void> {
        const auto first = co_await when_any(from.next(), other.pop());
        CHECK(first.index() == 1);
    });
    scheduler.run();
    all.send(1);
    CHECK(other.try_push(2));
    scheduler.run();
    CHECK(waits->error() == nullptr);
    CHECK(scheduler.run_task(from.next()) == 1);
}
