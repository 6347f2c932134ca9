#include "jobs/api/problem.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace jobs;

TEST_CASE("a problem as a response") {
    problem p(409, "duplicate", "it says \"no\"");
    p.members.emplace_back("existing_id", "7");
    const rota::http::response answer = to_response(p);
    CHECK(answer.status() == 409);
    CHECK(answer.headers().find("Content-Type") == "application/problem+json");
    CHECK(answer.body() == R"({"title":"Conflict","status":409,"code":"duplicate",)"
                           R"("detail":"it says \"no\"","existing_id":"7"})"
                           "\n");
    CHECK_FALSE(answer.headers().find("Retry-After"));
}

TEST_CASE("what may pass says when to ask again") {
    CHECK(to_response({429, "queue_full", ""}).headers().find("Retry-After") == "1");
}
