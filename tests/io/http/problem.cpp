#include <rota/http/problem.hpp>

#include <string>

#include <catch2/catch_test_macros.hpp>
#include <rota/http/router.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

TEST_CASE("a problem is JSON") {
    CHECK(problem(404).text() == "{\"title\":\"Not Found\",\"status\":404}\n");
    CHECK(problem(409, "\"a\"\nis there")
              .type("/taken")
              .title("Taken")
              .instance("/log/7")
              .member("name", "a\"")
              .member("count", -3)
              .member_json("list", "[1]")
              .text() == "{\"type\":\"/taken\",\"title\":\"Taken\",\"status\":409,"
                         "\"detail\":\"\\\"a\\\"\\nis there\",\"instance\":\"/log/7\","
                         "\"name\":\"a\\\"\",\"count\":-3,\"list\":[1]}\n");
    const response answer = problem(503).answer();
    CHECK(answer.status() == 503);
    CHECK(answer.headers().find("Content-Type") == "application/problem+json");
}

std::string told(std::string_view target, bool with_page) {
    router routes;
    routes.get("/own", [](const request&) -> response { throw problem(409, "no").error(); })
        .get("/text",
             [](const request&) -> response {
                 throw http_error(418, std::string("short and ") + "stout");
             })
        .get("/html",
             [](const request&) -> response { throw http_error(410, "<b>gone</b>", "text/html"); })
        .get("/bad",
             [](const request&) -> response { throw http_error(410, "gone", "text/html\r\nX: y"); })
        .get("/late", [](request&) -> task<response> { throw problem(409, "late").error(); });
    if (with_page)
        routes.error(problem_page);
    test::session_driver s(std::move(routes));
    const std::string answer =
        s.exchange("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    const std::size_t type = answer.find("Content-Type: ") + 14;
    return answer.substr(9, 4) + answer.substr(type, answer.find("\r\n", type) - type) + ' ' +
           answer.substr(answer.find("\r\n\r\n") + 4);
}

TEST_CASE("problems are thrown, and pages are made of them") {
    for (const bool with_page : {false, true}) {
        CHECK(told("/own", with_page) == "409 application/problem+json {\"title\":\"Conflict\","
                                         "\"status\":409,\"detail\":\"no\"}\n");
        CHECK(told("/late", with_page).ends_with("\"detail\":\"late\"}\n"));
        CHECK(told("/html", with_page) == "410 text/html <b>gone</b>");
    }
    CHECK(told("/text", false) == "418 text/plain; charset=utf-8 Unknown: short and stout\n");
    CHECK(told("/text", true).ends_with("\"detail\":\"short and stout\"}\n"));
    CHECK(told("/none", true) ==
          "404 application/problem+json {\"title\":\"Not Found\",\"status\":404}\n");
    CHECK(told("/bad", false) == "410 text/plain; charset=utf-8 Gone\n");
}

} // namespace
} // namespace rota::http
