#include <rota/http/handler.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/inline_scheduler.hpp>
#include <rota/yield.hpp>

namespace rota::http {
namespace {

int call(const handler& h) {
    inline_scheduler scheduler;
    const request_head head;
    request req(head, nullptr);
    task<response> running = h.call(req);
    return scheduler.run_task(std::move(running)).status();
}

response free_function(const request&) { return response(206); }
task<response> free_coroutine(request&) { co_return response(207); }

TEST_CASE("a handler may have any of the shapes") {
    CHECK(call([] { return response(201); }) == 201);
    CHECK(call([](const request&) { return response(202); }) == 202);
    CHECK(call([](const request&, std::string body) {
              return response(203 + (body.empty() ? 0 : 1));
          }) == 203);
    CHECK(call([](request&) -> task<response> { co_return response(204); }) == 204);
    CHECK(call([](const request&) -> task<response> { co_return response(205); }) == 205);
    CHECK(call(free_function) == 206);
    CHECK(call(free_coroutine) == 207);
    CHECK(handler(free_function).as_plain() != nullptr);
    CHECK(handler([] { return response(); }).as_plain() != nullptr);
    CHECK(handler(free_coroutine).as_plain() == nullptr);
}

TEST_CASE("what is empty is no handler") {
    CHECK_THROWS_AS(handler(std::function<response()>()), std::invalid_argument);
    CHECK_THROWS_AS(handler(std::function<task<response>(request&)>()), std::invalid_argument);
    CHECK_THROWS_AS(handler(handler::whole_body()), std::invalid_argument);
    CHECK_THROWS_AS(handler(static_cast<response (*)()>(nullptr)), std::invalid_argument);
}

TEST_CASE("a handler keeps what it captures, also what only moves") {
    auto owned = std::make_unique<int>(218);
    const handler plain([owned = std::move(owned)] { return response(*owned); });
    CHECK(call(plain) == 218);
    const handler coroutine([text = std::string(50, 'x')](request&) -> task<response> {
        co_return response(200 + static_cast<int>(text.size()));
    });
    CHECK(call(coroutine) == 250);
    const handler moved = std::move(const_cast<handler&>(coroutine));
    CHECK(call(moved) == 250);
}

TEST_CASE("middleware runs in its order, and may not go on") {
    const auto numbered = [](int n) {
        return std::make_shared<const middleware>(
            [n](request& req, next proceed) -> task<response> {
                auto& seen = req.context();
                const std::string before = seen.has_value() ? std::any_cast<std::string>(seen) : "";
                seen = before + std::to_string(n);
                if (n == 9)
                    co_return response(299);
                co_return co_await proceed(req);
            });
    };
    constexpr auto last = [](const void*, request&) -> task<response> { co_return response(200); };
    const auto run = [&](const middleware_chain& chain) {
        inline_scheduler scheduler;
        const request_head head;
        request req(head, nullptr);
        task<response> running = next(chain, last, nullptr)(req);
        const int status = scheduler.run_task(std::move(running)).status();
        return std::any_cast<std::string>(req.context()) + ' ' + std::to_string(status);
    };
    CHECK(run({numbered(1), numbered(2), numbered(3)}) == "123 200");
    CHECK(run({numbered(1), numbered(9), numbered(3)}) == "19 299");
}

/// What `first`, around a last step, gives; `ready` tells whether it was there at once.
response answer_of(middleware first, next::last_step last, bool& ready) {
    inline_scheduler scheduler;
    const request_head head;
    request req(head, nullptr);
    const middleware_chain chain{std::make_shared<const middleware>(std::move(first))};
    task<response> running = next(chain, last, nullptr)(req);
    ready = running.ready() != nullptr;
    return scheduler.run_task(std::move(running));
}

task<response> plain_step(const void*, request& req) {
    static const handler plain([] { return response(201); });
    return plain.call(req);
}
task<response> slow_step(const void*, request&) {
    co_await yield();
    co_return response(202);
}
task<response> throwing_step(const void*, request& req) {
    static const handler plain([]() -> response { throw std::runtime_error("on purpose"); });
    return plain.call(req);
}

TEST_CASE("behind middleware that need not wait a plain function has answered at once") {
    bool ready = false;
    const auto proceeds = [](request& req, next proceed) { return proceed(req); };
    CHECK(answer_of(proceeds, plain_step, ready).status() == 201);
    CHECK(ready);
    CHECK(answer_of(proceeds, slow_step, ready).status() == 202);
    CHECK_FALSE(ready);
    const auto awaits = [](request& req, next proceed) -> task<response> {
        co_return co_await proceed(req);
    };
    CHECK(answer_of(awaits, plain_step, ready).status() == 201);
    CHECK_FALSE(ready);
}

TEST_CASE("then() changes an answer that is there, and one that is to come") {
    bool ready = false;
    const auto changes = [](request& req, next proceed) {
        return then(proceed(req), [](response& answer) { answer.header("X-Seen", "yes"); });
    };
    CHECK(answer_of(changes, plain_step, ready).headers().find("X-Seen") == "yes");
    CHECK(ready);
    CHECK(answer_of(changes, slow_step, ready).headers().find("X-Seen") == "yes");
    CHECK_FALSE(ready);
    const auto fails = [](request& req, next proceed) {
        return then(proceed(req), [](response&) { throw std::logic_error("in the change"); });
    };
    CHECK_THROWS_AS(answer_of(fails, plain_step, ready), std::logic_error);
    CHECK_THROWS_AS(answer_of(fails, slow_step, ready), std::logic_error);
}

TEST_CASE("what is thrown behind proceed() is caught where its task is awaited") {
    bool ready = false;
    const auto catches = [](request& req, next proceed) -> task<response> {
        task<response> going = proceed(req);
        try {
            response answer = co_await std::move(going);
            co_return std::move(answer);
        } catch (const std::runtime_error&) {
            co_return response(299);
        }
    };
    CHECK(answer_of(catches, throwing_step, ready).status() == 299);
    const auto proceeds = [](request& req, next proceed) { return proceed(req); };
    CHECK_THROWS_AS(answer_of(proceeds, throwing_step, ready), std::runtime_error);
    CHECK_FALSE(ready);
}

} // namespace
} // namespace rota::http
