// A client that pipelines lets others have their turn.

#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/detail/budget.hpp>
#include <rota/yield.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using test::session_driver;

const std::string request_head = "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n";

router turn_routes() {
    router made;
    made.get("/plain", [] { return response::fixed("plain"); })
        .get("/task", [](const request&) -> task<response> { co_return response::text("x"); });
    return made;
}

/// Notes at each of its turns how many requests the client has had answered.
task<void> neighbour(const session_driver* client, std::vector<std::uint64_t>* seen) {
    for (int i = 0; i < 4; ++i) {
        seen->push_back(client->metrics().requests);
        co_await yield();
    }
}

/// At least one request, and at most what a budget has of awaits, comes between two turns of a
/// neighbour, however many are there.
void check_turns(const std::string& one) {
    constexpr std::uint64_t count = 4000;
    session_driver s(turn_routes());
    std::string flood;
    for (std::uint64_t i = 0; i < count; ++i)
        flood += one;
    s.stream().send(flood);
    std::vector<std::uint64_t> seen;
    (void)s.scheduler().spawn(neighbour(&s, &seen));
    s.scheduler().run();
    REQUIRE(seen.size() == 4);
    for (std::size_t i = 1; i < seen.size(); ++i) {
        CHECK(seen[i] > seen[i - 1]);
        // The first of a turn has been counted in the one before.
        CHECK(seen[i] - seen[i - 1] <= static_cast<std::uint64_t>(budget::awaits_max) + 1);
    }
    CHECK(s.metrics().requests == count); // and nothing is lost
    s.finish();
    CHECK(s.ended_well());
}

TEST_CASE("between the requests of a client that pipelines others have their turns") {
    check_turns(request_head);
    check_turns("GET /task HTTP/1.1\r\nHost: a\r\n\r\n");
    check_turns("HEAD /plain HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST_CASE("a stop reaches a client that pipelines") {
    session_driver s(turn_routes());
    std::string flood;
    for (int i = 0; i < 4000; ++i)
        flood += request_head;
    s.stream().send(flood);
    (void)s.scheduler().run_one(); // one turn of many
    s.client().request_stop();
    s.scheduler().run();
    CHECK(s.ended());
    CHECK(s.metrics().requests < 4000);
}

} // namespace
} // namespace rota::http
