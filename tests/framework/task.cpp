#include <rota/task.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>
#include <rota/sleep.hpp>
#include <rota/yield.hpp>

using namespace std::chrono_literals;

namespace {

rota::task<int> number(int n) { co_return n; }

rota::task<int> number_later(int n) {
    co_await rota::yield();
    co_return n;
}

rota::task<std::unique_ptr<int>> moved(std::unique_ptr<int> value) { co_return std::move(value); }

rota::task<void> nothing() { co_return; }

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

TEST_CASE("a task starts when it is awaited; one that is not is freed without having run") {
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
        other = rota::task<void>();
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

// GCC 12.2 compiles a coroutine that has no local variable and awaits in the condition of an if,
// while, for or switch so that its body never runs. Naming the value, which is the rule (a lint
// holds it), avoids that; each shape here has no other local variable.
namespace {

rota::task<bool> below(int* count, int limit) { co_return ++*count < limit; }

rota::task<void> loop_while(int* count, int* bodies) {
    while ([[maybe_unused]] const bool more = co_await below(count, 4))
        ++*bodies;
}

rota::task<void> loop_for(int* count, int* bodies) {
    for (; const bool more = co_await below(count, 4); *bodies += more ? 1 : 0) {
    }
}

rota::task<void> branch(int* count, int* bodies) {
    if ([[maybe_unused]] const bool more = co_await below(count, 4))
        ++*bodies;
}

rota::task<void> choose(int* count, int* bodies) {
    switch (const int n = co_await number(*count); n) {
    case 0:
        ++*bodies;
        break;
    default:
        break;
    }
}

} // namespace

TEST_CASE("coroutines whose only local variable is an awaited condition run their bodies") {
    rota::inline_scheduler scheduler;
    const auto bodies_of = [&](rota::task<void> (*shape)(int*, int*)) {
        int count = 0;
        int bodies = 0;
        scheduler.run_task(shape(&count, &bodies));
        return bodies;
    };
    CHECK(bodies_of(loop_while) == 3);
    CHECK(bodies_of(loop_for) == 3);
    CHECK(bodies_of(branch) == 1);
    CHECK(bodies_of(choose) == 1);
}
