// Coroutines that await in conditions and declare no variable: GCC 12 lays their frames out
// wrongly.

#include <rota/detail/coroutine_frame.hpp>

#include <optional>
#include <stdexcept>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/generator.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>
#include <rota/task.hpp>
#include <rota/task_group.hpp>
#include <rota/yield.hpp>

#include "death.hpp"

using namespace std::chrono_literals;
using rota::task;

namespace {

int left = 0;  // how often conditions are still true
int ran = 0;   // how often bodies have run
int alive = 0; // temporaries of conditions

/// A condition that has to be destroyed.
struct answer {
    explicit answer(bool y) : yes(y), text("long enough to be on the heap, not in place") {
        ++alive;
    }
    answer(answer&& other) noexcept : yes(other.yes), text(std::move(other.text)) { ++alive; }
    answer(const answer&) = delete;
    answer& operator=(const answer&) = delete;
    answer& operator=(answer&&) = delete;
    ~answer() { --alive; }
    explicit operator bool() const { return yes; }
    bool yes;
    std::string text;
};

task<bool> more() { co_return left-- > 0; }
task<bool> more_later() {
    co_await rota::yield();
    co_return left-- > 0;
}
task<answer> answer_later() {
    co_await rota::yield();
    co_return answer(left-- > 0);
}
task<std::optional<std::string>> line() {
    co_await rota::yield();
    if (left-- > 0)
        co_return "a line that is on the heap, since it is not short";
    co_return std::nullopt;
}
task<int> number(int n) { co_return n; }
task<bool> fails() {
    co_await rota::yield();
    throw std::runtime_error("on purpose");
}

// -- none of these has a variable

task<void> while_at_once() {
    while (co_await more())
        ++ran;
}
task<void> while_later() {
    while (co_await more_later())
        ++ran;
}
task<void> while_class() {
    while (co_await answer_later())
        ++ran;
}
task<void> while_line() {
    while ((co_await line()).has_value())
        ++ran;
}
task<void> while_two() {
    while (co_await more_later() && co_await number(1) == 1)
        ++ran;
}
task<void> while_not() {
    while (!co_await more_later() || left > 0)
        ++ran;
    ++ran;
}
task<void> while_nested() {
    while (co_await more_later()) {
        if (co_await number(ran) < 100)
            ++ran;
    }
}
task<void> do_later() {
    do
        ++ran;
    while (co_await more_later());
    --ran;
}
task<void> for_later() {
    for (; co_await more_later(); ++ran) {
    }
}
task<void> if_later() {
    if (co_await more_later())
        ran = 3;
}
task<void> switch_later() {
    switch (co_await number(7)) {
    case 7:
        ran = 3;
        break;
    default:
        break;
    }
}
task<void> in_try() {
    try {
        while (co_await more_later())
            ++ran;
    } catch (...) {
        ran = -1;
    }
}
task<void> after_others() {
    co_await while_later();
    if (co_await number(0) == 0)
        co_return;
    ran = -1;
}
task<void> many_conditions() {
    if (co_await number(1) == 1)
        ++ran;
    if (co_await number(2) == 2)
        ++ran;
    if (co_await number(3) == 4)
        ++ran;
    if (co_await number(4) == 5)
        ++ran;
    if (co_await number(5) == 6)
        ++ran;
    if (co_await number(6) == 7)
        ++ran;
    if (co_await number(7) == 8)
        ++ran;
    if (co_await number(8) == 9)
        ++ran;
    if (co_await number(9) == 9)
        ++ran;
}
task<int> with_value() {
    if (co_await more_later())
        co_return 3;
    co_return 0;
}
task<std::string> with_text(std::string text) {
    if (co_await more_later())
        co_return text;
    co_return "";
}

} // namespace

TEST_CASE("coroutines without a variable that await in a condition run") {
    rota::inline_scheduler scheduler;
    const auto runs = [&](task<void> (*body)()) {
        left = 3;
        ran = 0;
        scheduler.run_task(body());
        return ran == 3 && alive == 0;
    };
    CHECK(runs(while_at_once));
    CHECK(runs(while_later));
    CHECK(runs(while_class));
    CHECK(runs(while_line));
    CHECK(runs(while_two));
    CHECK(runs(while_not));
    CHECK(runs(while_nested));
    CHECK(runs(do_later));
    CHECK(runs(for_later));
    CHECK(runs(if_later));
    CHECK(runs(switch_later));
    CHECK(runs(in_try));
    CHECK(runs(after_others));
    CHECK(runs(many_conditions));
}

TEST_CASE("they return values, and keep their parameters") {
    rota::inline_scheduler scheduler;
    left = 2;
    CHECK(scheduler.run_task(with_value()) == 3);
    const std::string text(100, 'x');
    CHECK(scheduler.run_task(with_text(text)) == text);
}

namespace {

task<void> fail_in_condition() {
    while (co_await fails())
        ++ran;
}

task<void> pop_all(rota::channel<int>* values) {
    while (co_await values->pop())
        ++ran;
}

task<void> pop_behind(rota::channel<int>* values, rota::event* begin) {
    co_await begin->wait();
    while (co_await values->pop())
        ++ran;
}

struct witness {
    explicit witness(int* count) : count_(count) { ++*count_; }
    witness(witness&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;
    witness& operator=(witness&&) = delete;
    ~witness() {
        if (count_ != nullptr)
            --*count_;
    }
    int* count_;
};

task<void> hold(witness) {
    while (co_await more_later())
        ++ran;
}

} // namespace

TEST_CASE("an exception leaves a condition") {
    rota::inline_scheduler scheduler;
    REQUIRE_THROWS_AS(scheduler.run_task(fail_in_condition()), std::runtime_error);
}

TEST_CASE("awaiters in conditions wait, and end when stopped") {
    rota::inline_scheduler scheduler;
    rota::channel<int> values(1);
    rota::event begin;
    ran = 0;
    const rota::routine_ptr popping = scheduler.spawn(pop_behind(&values, &begin));
    const rota::routine_ptr stopped = scheduler.spawn(pop_all(&values));
    scheduler.run();
    stopped->request_stop();
    begin.set();
    scheduler.run();
    REQUIRE(stopped->state() == rota::routine_state::stopped);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(values.try_push(i));
        scheduler.run();
    }
    values.close();
    scheduler.run();
    CHECK(ran == 3);
    CHECK(popping->state() == rota::routine_state::stopped);
}

TEST_CASE("what they hold is destroyed once, at the end or before the beginning") {
    rota::inline_scheduler scheduler;
    int holding = 0;
    left = 2;
    task<void> dropped = hold(witness(&holding));
    CHECK(holding == 1);
    dropped.drop();
    CHECK(holding == 0);
    scheduler.run_task(hold(witness(&holding)));
    CHECK(holding == 0);
}

namespace {

task<void> await_twice() {
    task<void> t = while_at_once();
    co_await std::move(t);
    co_await std::move(t);
}

task<void> await_empty() {
    if (co_await task<bool>())
        ++ran;
}

} // namespace

TEST_CASE("one that is awaited twice, or awaits what it cannot, is named") {
    const auto words_of = [](task<void> (*body)()) {
        return last_words([body] {
            rota::inline_scheduler scheduler;
            scheduler.run_task(body());
        });
    };
    CHECK(words_of(await_twice).find("while_at_once() is awaited twice") != std::string::npos);
    const std::string words = words_of(await_empty);
    INFO(words);
    CHECK(words.find("await_empty() at ") != std::string::npos);
    CHECK(words.find("coroutine_frame.cpp:") != std::string::npos);
}

namespace {

rota::generator<int, int> sum_up() {
    while (co_yield ran)
        ++ran;
}

struct alignas(16) wide {
    int value = 0;
};

task<wide> with_wide_value() {
    if (co_await more())
        ++ran;
    co_return wide{};
}

task<wide> with_wide_value_and_variable() {
    const bool yes = co_await more();
    if (yes)
        ++ran;
    co_return wide{};
}

} // namespace

TEST_CASE("generators that yield in a condition go on") {
    ran = 0;
    rota::generator<int, int> g = sum_up();
    REQUIRE(g.next() == 0);
    REQUIRE(g.next(5) == 1);
    REQUIRE(g.next(5) == 2);
    REQUIRE_FALSE(g.has_more());
    REQUIRE(g.done());
    const rota::generator<int, int> not_begun = sum_up();
}

TEST_CASE("where it cannot be made up for, the program ends and says why") {
    const std::string words = last_words([] {
        rota::inline_scheduler scheduler;
        (void)scheduler.run_task(with_wide_value());
    });
    INFO(words);
    if (rota::detail::frames_are_displaced)
        CHECK(words.find("declare one") != std::string::npos);
    else
        CHECK(words.empty());
    rota::inline_scheduler scheduler;
    left = 1;
    ran = 0;
    CHECK(scheduler.run_task(with_wide_value_and_variable()).value == 0);
    CHECK(ran == 1);
}
