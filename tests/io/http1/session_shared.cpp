// Answers whose content others share, or that own much of it.

#include <memory>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/router.hpp>

#include "session_driver.hpp"

namespace rota::http {
namespace {

using test::asking;
using test::letters;
using test::session_driver;

std::string head(std::size_t size) {
    return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " +
           std::to_string(size) + "\r\n\r\n";
}

TEST_CASE("content that is shared, owned or static is sent behind its head, of any size") {
    static constexpr std::size_t large = 300'000;
    static constexpr char text[] = "0123456789";
    const shared_body small(letters(10));
    const shared_body much(letters(large));
    router routes;
    routes.get("/small", [small] { return response::shared(small, "text/plain"); })
        .get("/much", [much] { return response::shared(much, "text/plain"); })
        .get("/none", [] { return response::shared({}, "text/plain"); })
        .get("/part", [much] { return response::shared(much, "text/plain").status(206); })
        .get("/unchanged", [much] { return response::shared(much, "text/plain").status(304); })
        .get("/owned", [] { return response::with_body(letters(large), "text/plain"); })
        .get("/fixed", [] { return response::fixed(text, "text/plain"); })
        .get("/later", [much](request&) -> task<response> {
            response made = response::shared(much, "text/plain");
            co_return made;
        });
    session_driver s(std::move(routes));
    CHECK(s.exchange(asking("/small")) == head(10) + letters(10));
    CHECK((s.exchange(asking("/much")) == head(large) + letters(large)));
    CHECK(s.exchange(asking("/much", "HEAD")) == head(large));
    CHECK(s.exchange(asking("/none")) == head(0));
    CHECK(s.exchange(asking("/unchanged")).starts_with("HTTP/1.1 304 "));
    CHECK((s.exchange(asking("/owned") + asking("/fixed") + asking("/later") + asking("/part")) ==
           head(large) + letters(large) + head(10) + text + head(large) + letters(large) +
               "HTTP/1.1 206 Partial Content" + head(large).substr(15) + letters(large)));
    CHECK(s.metrics().bytes_sent > 4 * large);
    s.finish();
    CHECK(s.ended_well());
}

TEST_CASE("a producer writes shared pieces among others") {
    const shared_body small("small");
    const shared_body much(letters(20'000));
    router routes;
    routes.get("/", [small, much] {
        return response::stream([small, much](body_writer& to) -> task<void> {
            co_await to.write("first ");
            co_await to.write_shared(small);
            co_await to.write_shared(much);
            co_await to.write_shared({});
            co_await to.write(" last");
        });
    });
    session_driver s(std::move(routes));
    CHECK((s.exchange(asking("/"))
               .ends_with("\r\n\r\n6\r\nfirst \r\n5\r\nsmall\r\n4e20\r\n" + letters(20'000) +
                          "\r\n5\r\n last\r\n0\r\n\r\n")));
}

} // namespace
} // namespace rota::http
