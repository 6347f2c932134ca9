#include <rota/under.hpp>

#include <memory>
#include <stop_token>

#include <catch2/catch_test_macros.hpp>

#include <rota/channel.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/sleep.hpp>

using namespace std::chrono_literals;

TEST_CASE("either token stops what runs under them") {
    for (const bool by_parent : {false, true}) {
        rota::inline_scheduler scheduler;
        rota::channel<int> c(1);
        std::stop_source source;
        bool cancelled = false;
        const rota::routine_ptr r = scheduler.spawn([&]() -> rota::task<void> {
            try {
                (void)co_await rota::under(source.get_token(), c.pop());
            } catch (const rota::operation_cancelled&) {
                cancelled = true;
            }
        });
        REQUIRE(scheduler.run() == rota::run_status::some_routines_blocked);
        if (by_parent)
            r->request_stop();
        else
            source.request_stop();
        REQUIRE(scheduler.run() == rota::run_status::no_routines);
        REQUIRE(cancelled);
        REQUIRE(c.try_push(1)); // and nobody takes it
        REQUIRE(c.size() == 1);
    }
}

TEST_CASE("what ends in time gives its value, and the token has no say in what follows") {
    rota::inline_scheduler scheduler;
    std::stop_source source;
    const auto body = [&]() -> rota::task<int> {
        const auto value = co_await rota::under(source.get_token(), [] { return 5; });
        source.request_stop();
        co_await rota::sleep_for(1s);
        co_return value;
    };
    REQUIRE(scheduler.run_task(body) == 5);
    REQUIRE_THROWS_AS(scheduler.run_task(rota::under(source.get_token(), rota::sleep_for(1s))),
                      rota::operation_cancelled);
}
