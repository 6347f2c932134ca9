#include <rota/when_settled.hpp>

#include <memory>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>
#include <rota/with_timeout.hpp>

using namespace std::chrono_literals;

TEST_CASE("how each has ended; an error of one does not stop the others") {
    rota::inline_scheduler scheduler;
    const auto fails = []() -> rota::task<int> {
        co_await rota::sleep_for(1ms);
        throw std::runtime_error("on purpose");
    };
    const auto gives = []() -> rota::task<std::unique_ptr<int>> {
        co_await rota::sleep_for(2ms);
        co_return std::make_unique<int>(7);
    };
    auto [failed, value, none] =
        scheduler.run_task(rota::when_settled(fails, gives, rota::sleep_for(3ms)));
    REQUIRE_FALSE(failed);
    REQUIRE_THROWS_AS(std::rethrow_exception(failed.error), std::runtime_error);
    REQUIRE(value);
    REQUIRE(**value.value == 7);
    REQUIRE(none);
}

TEST_CASE("what was popped before the time is up is there") {
    rota::inline_scheduler scheduler;
    rota::channel<int> a(1);
    rota::channel<int> b(1);
    REQUIRE(a.try_push(1));
    const auto [first, second] =
        scheduler.run_task(rota::with_timeout(1s, rota::when_settled(a.pop(), b.pop())));
    REQUIRE(first.value == std::optional(1));
    REQUIRE_FALSE(second);
    REQUIRE_THROWS_AS(std::rethrow_exception(second.error), rota::operation_cancelled);
}
