// Answers whose content is a file's.

#include <string>
#include <system_error>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/router.hpp>

#include "io/temporary_file.hpp"
#include "session_driver.hpp"

namespace rota::http {
namespace {

using io::test::temporary_file;
using test::asking;
using test::letters;
using test::session_driver;

router routes(const temporary_file* file, io::file_slice stale = {}) {
    router made;
    made.get("/whole", [file] { return response::file(file->slice(), "text/plain"); })
        .get("/part",
             [file] { return response::file(file->slice(2, 5), "text/plain").status(206); })
        .get("/none", [file] { return response::file(file->slice(0, 0), "text/plain"); })
        .get("/stale", [stale] { return response::file(stale, "text/plain"); })
        .get("/stream", [file] {
            return response::stream([file](body_writer& to) -> task<void> {
                co_await to.write("first ");
                co_await to.write_file(file->slice());
                co_await to.write(" last");
            });
        });
    return made;
}

TEST_CASE("the content of a file is sent behind its head") {
    const temporary_file f(letters(100'000));
    session_driver s(routes(&f));
    CHECK((s.exchange(asking("/whole")) ==
           "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n" +
               letters(100'000)));
    CHECK(s.exchange(asking("/whole", "HEAD")) ==
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n");
    CHECK(s.exchange(asking("/part") + asking("/none")) ==
          "HTTP/1.1 206 Partial Content\r\nContent-Type: text/plain\r\nContent-Length: "
          "5\r\n\r\ncdefg"
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n");
    CHECK(s.metrics().bytes_sent > 100'000);
    s.finish();
    CHECK(s.ended_well());
}

TEST_CASE("a producer writes files among its pieces") {
    const temporary_file f("0123456789");
    session_driver s(routes(&f));
    CHECK(s.exchange(asking("/stream"))
              .ends_with("\r\n\r\n6\r\nfirst \r\na\r\n0123456789\r\n5\r\n last\r\n0\r\n\r\n"));
}

TEST_CASE("a file that is no more what it was ends the connection") {
    const temporary_file f("0123456789");
    io::file_slice stale = f.slice();
    stale.facts.size += 1;
    session_driver s(routes(&f, stale));
    s.exchange(asking("/stale"));
    CHECK(s.stream().aborted());
    CHECK(s.ended());
    CHECK(s.log() == std::vector<std::string>{"GET /stale 200"});
    CHECK(s.content_sent() < 11);
}

TEST_CASE("a client that takes a file too slowly is reset") {
    const temporary_file f(letters(500'000));
    server_limits limits;
    limits.send_timeout = std::chrono::seconds(5);
    session_driver s(routes(&f), limits);
    s.stream().set_room(1000);
    s.stream().set_taken([] { return 0; });
    s.stream().send(asking("/whole"));
    s.scheduler().run();
    s.advance(std::chrono::seconds(4));
    CHECK_FALSE(s.stream().aborted());
    s.advance(std::chrono::seconds(2));
    CHECK(s.stream().aborted());
    CHECK(s.ended());
    CHECK(s.log() == std::vector<std::string>{"GET /whole 200"});
    CHECK(s.content_sent() < 500'000);
}

} // namespace
} // namespace rota::http
