// When the end of a session waits for the client's, though the client has asked for it.

#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/router.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using test::session_driver;

task<void> much(body_writer& out) {
    const std::string piece(10'000, 'x');
    for (int i = 0; i < 4; ++i)
        co_await out.write(piece);
}

router routes() {
    router made;
    made.get("/few", [] { return response::fixed("few"); })
        .get("/large", [] { return response::text(std::string(40'000, 'x')); })
        .get("/streamed", [] { return response::stream(much); });
    return made;
}

/// Whether the session has ended as soon as it had answered.
bool ends_at_once(const std::string& requests) {
    session_driver s(routes());
    CHECK(s.exchange(requests).starts_with("HTTP/1.1 200 OK\r\n"));
    const bool at_once = s.ended();
    s.finish();
    CHECK(s.ended_well());
    return at_once;
}

const std::string close = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const std::string keep = " HTTP/1.1\r\nHost: a\r\n\r\n";

} // namespace

TEST_CASE("only what the kernel surely takes at once is not waited for") {
    CHECK(ends_at_once("GET /few" + close));
    CHECK(ends_at_once("GET /few" + keep + "GET /few" + close));
    CHECK_FALSE(ends_at_once("GET /large" + close));
    CHECK_FALSE(ends_at_once("GET /streamed" + close));
    CHECK_FALSE(ends_at_once("GET /large" + keep + "GET /few" + close));
}

} // namespace rota::http
