#include <rota/http/behind.hpp>

#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

middleware marking(std::string with) {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): it is kept
    return [with = std::move(with)](request& req, next proceed) -> task<response> {
        response answer = co_await proceed(req);
        const std::string said(answer.body());
        co_return response::text(with + '(' + said + ')');
    };
}

std::string said_to(test::session_driver& client, const std::string& path) {
    const std::string answer = client.exchange("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return answer.substr(answer.find("\r\n\r\n") + 4);
}

TEST_CASE("middleware is around one handler, whatever its shape, and within that of its router") {
    router routes;
    routes.use(marking("all"))
        .get("/plain", behind(marking("one"), [] { return response::text("plain"); }))
        .get("/waiting",
             behind(marking("one"),
                    [](request&) -> task<response> { co_return response::text("waiting"); }))
        .get("/whole", behind(marking("one"),
                              [](const request&, std::string content) {
                                  return response::text("whole" + content);
                              }))
        .get("/twice",
             behind(marking("a"), behind(marking("b"), [] { return response::text("c"); })))
        .get("/bare", [] { return response::text("bare"); });
    test::session_driver client(std::move(routes));
    CHECK(said_to(client, "/plain") == "all(one(plain))");
    CHECK(said_to(client, "/waiting") == "all(one(waiting))");
    CHECK(said_to(client, "/whole") == "all(one(whole))");
    CHECK(said_to(client, "/twice") == "all(a(b(c)))");
    CHECK(said_to(client, "/bare") == "all(bare)");
}

} // namespace
} // namespace rota::http
