#include <rota/task.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/check.hpp>
#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>
#include <rota/sleep.hpp>
#include <rota/task_group.hpp>
#include <rota/yield.hpp>

#include "death.hpp"

using namespace std::chrono_literals;

namespace {

rota::task<int> number(int n) { co_return n; }

rota::task<int> number_later(int n) {
    co_await rota::yield();
    co_return n;
}

rota::task<std::unique_ptr<int>> moved(std::unique_ptr<int> value) { co_return std::move(value); }

rota::task<std::string> text_of(rota::task<std::string> t) {
    std::string text = co_await std::move(t);
    co_return text + '!';
}

rota::task<void> nothing() { co_return; }

rota::task<void> await_twice() {
    rota::task<int> t = number(1);
    (void)co_await std::move(t);
    (void)co_await std::move(t);
}

rota::task<void> await_empty() {
    rota::task<int> t = number(1);
    rota::task<int> other = std::move(t);
    (void)co_await std::move(t);
}

rota::task<void> await_under_twice(std::stop_token token) {
    rota::task<void> t = nothing();
    co_await t.under(token);
    co_await t.under(token);
}

rota::task<int> fail(bool later) {
    if (later) {
        co_await rota::yield();
    }
    throw std::runtime_error("on purpose");
}

rota::task<int> depth(int n) {
    if (n == 0) {
        co_await rota::yield();
        co_return 0;
    }
    const int below = co_await depth(n - 1);
    co_return below + 1;
}

/// Counts its living copies; double destruction makes the count wrong, and the sanitizer speak.
struct counted {
    explicit counted(int* l) : living(l), text("long enough to be on the heap, not in place") {
        ++*living;
    }
    counted(const counted& other) : living(other.living), text(other.text) { ++*living; }
    counted(counted&& other) noexcept : living(other.living), text(std::move(other.text)) {
        ++*living;
    }
    counted& operator=(const counted&) = default;
    counted& operator=(counted&&) = default;
    ~counted() { --*living; }
    int* living;
    std::string text;
};

} // namespace

TEST_CASE("values, references of values and nothing come out of tasks") {
    rota::inline_scheduler scheduler;
    constexpr auto body = []() -> rota::task<std::string> {
        const int sum = co_await number(1) + co_await number_later(2);
        auto value = std::make_unique<int>(39);
        const auto pointer = co_await moved(std::move(value));
        co_await nothing();
        rota::task<int> kept = number(0);
        const int zero = co_await std::move(kept);
        co_return std::to_string(sum + *pointer + zero);
    };
    REQUIRE(scheduler.run_task(body()) == "42");
}

TEST_CASE("a value may be returned as a list of its parts") {
    rota::inline_scheduler scheduler;
    constexpr auto empty = []() -> rota::task<std::optional<int>> { co_return {}; };
    constexpr auto pair = []() -> rota::task<std::pair<int, std::string>> { co_return {1, "a"}; };
    REQUIRE_FALSE(scheduler.run_task(empty()).has_value());
    REQUIRE(scheduler.run_task(pair()) == std::pair<int, std::string>(1, "a"));
}

TEST_CASE("exceptions pass through, at once and after a suspension") {
    rota::inline_scheduler scheduler;
    constexpr auto body = [](bool later) -> rota::task<std::string> {
        try {
            co_return std::to_string(co_await fail(later));
        } catch (const std::runtime_error& e) {
            co_return e.what();
        }
    };
    REQUIRE(scheduler.run_task(body(false)) == "on purpose");
    REQUIRE(scheduler.run_task(body(true)) == "on purpose");
    REQUIRE_THROWS_AS(scheduler.run_task(fail(true)), std::runtime_error);
}

TEST_CASE("a task starts when it is awaited; one that is dropped is freed without having run") {
    bool ran = false;
    constexpr auto body = [](bool* r, std::shared_ptr<int>) -> rota::task<void> {
        *r = true;
        co_return;
    };
    auto witness = std::make_shared<int>(1);
    {
        rota::task<void> t = body(&ran, witness);
        REQUIRE(t.valid());
        REQUIRE(witness.use_count() == 2);
        rota::task<void> other = std::move(t);
        REQUIRE_FALSE(t.valid());
        other.drop();
        REQUIRE_FALSE(other.valid());
        REQUIRE(witness.use_count() == 1);
    }
    REQUIRE_FALSE(ran);
}

TEST_CASE("a million tasks that finish at once do not use up the stack") {
    rota::inline_scheduler scheduler;
    constexpr auto loop = [](int count) -> rota::task<long> {
        long sum = 0;
        for (int i = 0; i < count; ++i) {
            sum += co_await number(i);
        }
        co_return sum;
    };
    REQUIRE(scheduler.run_task(loop(1'000'000)) == 499'999'500'000L);
    // And with the loop itself resumed by the end of a child that had suspended.
    constexpr auto resumed = [](auto inner) -> rota::task<long> {
        (void)co_await number_later(1);
        co_return co_await inner(1'000'000);
    };
    REQUIRE(scheduler.run_task(resumed(loop)) == 499'999'500'000L);
}

TEST_CASE("many tasks that suspend, one after another, do not use up the stack") {
    rota::inline_scheduler scheduler;
    constexpr auto loop = [](int count) -> rota::task<long> {
        long sum = 0;
        for (int i = 0; i < count; ++i) {
            sum += co_await number_later(i);
        }
        co_return sum;
    };
    REQUIRE(scheduler.run_task(loop(200'000)) == 19'999'900'000L);
}

TEST_CASE("deep nesting, with the suspension at the bottom") {
    rota::inline_scheduler scheduler;
    REQUIRE(scheduler.run_task(depth(2000)) == 2000);
}

TEST_CASE("the routine and the stop token travel down to children") {
    rota::inline_scheduler scheduler;
    constexpr auto child = []() -> rota::task<std::pair<rota::routine*, std::stop_token>> {
        rota::routine& self = co_await rota::current_routine;
        std::stop_token token = co_await rota::current_stop_token;
        co_return std::pair(&self, std::move(token));
    };
    bool same = false;
    bool stopped = false;
    constexpr auto parent = [](auto make, bool* same_out, bool* stopped_out) -> rota::task<void> {
        rota::routine& self = co_await rota::current_routine;
        const auto from_child = co_await make();
        *same_out = from_child.first == &self;
        self.request_stop();
        *stopped_out = from_child.second.stop_requested();
    };
    (void)scheduler.spawn(parent(child, &same, &stopped));
    scheduler.run();
    REQUIRE(same);
    REQUIRE(stopped);
}

TEST_CASE("a task can be run under another token") {
    rota::inline_scheduler scheduler;
    constexpr auto parent = []() -> rota::task<bool> {
        std::stop_source source;
        source.request_stop();
        const std::stop_token token = source.get_token();
        rota::task<void> child = rota::sleep_for(1h);
        bool cancelled = false;
        try {
            co_await child.under(token);
        } catch (const rota::operation_cancelled&) {
            cancelled = true;
        }
        const std::stop_token own = co_await rota::current_stop_token;
        co_return cancelled && !own.stop_requested();
    };
    REQUIRE(scheduler.run_task(parent()));
}

// The compiler that this is built with first (GCC 12) destroys temporaries twice in some awaited
// expressions: aggregates with members, ?: over class values, aggregates made of several awaits.
// The rule is to name the arguments; these are the shapes that follow from it, and those used
// without.
namespace {

struct options {
    counted a;
    std::string name{};
};

rota::task<std::size_t> take_options(options o) {
    co_await rota::yield();
    co_return o.a.text.size() + o.name.size();
}

rota::task<counted> give(int* living) {
    co_await rota::yield();
    co_return counted(living);
}

rota::task<std::pair<counted, counted>> give_two(int* living) {
    std::pair<counted, counted> result(counted{living}, counted{living});
    co_return result;
}

rota::task<std::size_t> take(counted c) {
    co_await rota::yield();
    co_return c.text.size();
}

rota::task<std::size_t> shapes(int* living) {
    options named{.a = counted(living), .name = "a name that is not in place either"};
    std::size_t sum = co_await take_options(std::move(named));
    counted chosen = sum > 0 ? counted(living) : counted(living);
    sum += co_await take(std::move(chosen));
    sum += co_await take(counted(living));
    const counted first = co_await give(living);
    const counted second = co_await give(living);
    const options of_several{.a = first, .name = second.text};
    const auto pair = co_await give_two(living);
    sum += of_several.name.size() + pair.first.text.size() + pair.second.text.size();
    sum += (co_await give(living)).text.size();
    co_return sum;
}

} // namespace

TEST_CASE("shapes of awaited expressions destroy everything exactly once") {
    int living = 0;
    rota::inline_scheduler scheduler;
    const std::string text = counted(&living).text;
    REQUIRE(scheduler.run_task(shapes(&living)) == text.size() * 7 + 34);
    REQUIRE(living == 0);
}

namespace {

#ifdef __clang__ // it sees what is wrong here; GCC 12 does not
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type"
#endif
rota::task<int> ends_by_chance(bool well) {
    if (well)
        co_return 7;
    co_await nothing();
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

rota::task<void> await_without_value() {
    const int well = co_await ends_by_chance(true);
    CHECK(well == 7);
    (void)co_await ends_by_chance(false);
}

} // namespace

TEST_CASE("a task that ends without its result ends the program and says which") {
    const std::string words = last_words([] {
        rota::inline_scheduler scheduler;
        (void)scheduler.spawn(await_without_value(), {.name = "misuser"});
        scheduler.run();
    });
    INFO(words);
    CHECK(words.starts_with("rota: the task "));
    CHECK(words.find("ends_by_chance() has ended without a co_return") != std::string::npos);
}

TEST_CASE("a task that is awaited twice, or is empty, ends the program and says which and where") {
    const auto words_of = [](rota::task<void> (*body)()) {
        return last_words([body] {
            rota::inline_scheduler scheduler;
            (void)scheduler.spawn(body(), {.name = "misuser"});
            scheduler.run();
        });
    };
    const std::string twice = words_of(await_twice);
    INFO(twice);
    CHECK(twice.starts_with("rota: the task "));
    CHECK(twice.find("number() is awaited twice, by ") != std::string::npos);
    CHECK(twice.find("await_twice() at ") != std::string::npos);
    CHECK(twice.find("task.cpp:") != std::string::npos);
    CHECK(twice.find("in routine misuser#1\n") != std::string::npos);

    const std::string empty = words_of(await_empty);
    INFO(empty);
    CHECK(empty.starts_with("rota: a task that is empty is awaited, by "));
    CHECK(empty.find("await_empty() at ") != std::string::npos);

    const std::string under = words_of([] { return await_under_twice(std::stop_token()); });
    INFO(under);
    CHECK(under.find("nothing() is awaited twice, by ") != std::string::npos);
}

namespace {

struct forgetful {
    static rota::task<void> forget_one() {
        rota::task<int> forgotten = number(1);
        co_await nothing();
    }
    static rota::task<void> overwrite_one() {
        rota::task<int> t = number(1);
        t = number_later(2);
        (void)co_await std::move(t);
    }
    static rota::task<void> leave_unused(rota::task<int> unused) {
        co_await nothing();
        (void)unused;
    }
    static rota::task<void> pass_one() { co_await leave_unused(number_later(1)); }
    static rota::task<void> drop_one() {
        rota::task<int> t = number(1);
        co_await nothing();
        t.drop();
        rota::task<void> another = leave_unused(number(1)); // what it holds goes with it
        another.drop();
    }
    static rota::task<void> throw_past_one() {
        rota::task<int> t = number(1);
        (void)co_await fail(true);
        (void)co_await std::move(t);
    }
    static rota::task<void> fail_before(rota::task<int> unused) {
        (void)co_await fail(true);
        (void)co_await std::move(unused);
    }
    static rota::task<void> pass_to_failing() { co_await fail_before(number(1)); }
};

} // namespace

TEST_CASE("a task may be ready, and is awaited as any other or looked into") {
    rota::inline_scheduler scheduler;
    CHECK(scheduler.run_task(rota::ready_task(7)) == 7);
    CHECK(scheduler.run_task(text_of(rota::ready_task<std::string>("text"))) == "text!");
    rota::task<std::string> t = rota::ready_task<std::string>("one");
    REQUIRE(t.ready() != nullptr);
    *t.ready() += "two";
    rota::task<std::string> moved = std::move(t);
    CHECK(t.ready() == nullptr);
    REQUIRE(moved.fresh());
    CHECK(scheduler.run_task(text_of(std::move(moved))) == "onetwo!");
    rota::task<int> never = rota::ready_task(1); // which nobody awaits: nothing was forgotten
    CHECK(*never.ready() == 1);
    rota::task<int> usual = number(1);
    CHECK(usual.ready() == nullptr);
    usual.drop();
    CHECK(rota::task<int>().ready() == nullptr);
    auto only_moved = rota::ready_task(std::make_unique<int>(3));
    CHECK(*scheduler.run_task(std::move(only_moved)) == 3);
}

TEST_CASE("a task may have failed before it is awaited") {
    rota::inline_scheduler scheduler;
    const auto failure = std::make_exception_ptr(std::runtime_error("on purpose"));
    CHECK_THROWS_AS(scheduler.run_task(rota::failed_task<int>(failure)), std::runtime_error);
    CHECK_THROWS_AS(scheduler.run_task(text_of(rota::failed_task<std::string>(failure))),
                    std::runtime_error);
    rota::task<int> dropped = rota::failed_task<int>(failure);
    CHECK(dropped.ready() == nullptr);
    CHECK(dropped.fresh());
}

TEST_CASE("a task that was never awaited ends the program and says which, where checks are on") {
    if (!rota::checks_enabled)
        SKIP("built without checks");
    const auto words_of = [](rota::task<void> (*body)()) {
        return last_words([body] {
            rota::inline_scheduler scheduler;
            scheduler.run_task(body());
        });
    };
    const std::string ending = "() was never awaited, so it has not run: write co_await, or drop() "
                               "it\n";
    const std::string forgotten = words_of(forgetful::forget_one);
    INFO(forgotten);
    CHECK(forgotten.starts_with("rota: the task "));
    CHECK(forgotten.ends_with("number" + ending));
    CHECK(words_of(forgetful::overwrite_one).ends_with("number" + ending));
    CHECK(words_of(forgetful::pass_one).ends_with("number_later" + ending));
}

TEST_CASE("a task that is dropped, or that an exception passes, need not have been awaited") {
    rota::inline_scheduler scheduler;
    REQUIRE_NOTHROW(scheduler.run_task(forgetful::drop_one()));
    REQUIRE_THROWS_AS(scheduler.run_task(forgetful::throw_past_one()), std::runtime_error);
    REQUIRE_THROWS_AS(scheduler.run_task(forgetful::pass_to_failing()), std::runtime_error);
}

TEST_CASE("a routine or a child is not made over a task that is empty, or was awaited") {
    struct users {
        static rota::task<void> spawn_in_group() {
            rota::task_group group(co_await rota::current_context);
            group.spawn(rota::task<void>());
            co_await group.join();
        }
        static rota::task<void> spawn_awaited(rota::inline_scheduler* on) {
            rota::task<void> t = nothing();
            co_await t.under(std::stop_token());
            (void)on->spawn(std::move(t));
        }
    };
    rota::inline_scheduler scheduler;
    REQUIRE_THROWS_AS(scheduler.spawn(rota::task<void>()), std::invalid_argument);
    REQUIRE_THROWS_AS(scheduler.run_task(users::spawn_in_group()), std::invalid_argument);
    REQUIRE_THROWS_AS(scheduler.run_task(users::spawn_awaited(&scheduler)), std::invalid_argument);
    REQUIRE(scheduler.routine_count() == 0);
    REQUIRE(scheduler.home().places() == 0);
}
