#include <rota/http/decoding.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/error.hpp>
#include <rota/http/request_limits.hpp>
#include <rota/when_all.hpp>

#include "answer_read.hpp"
#include "read_patiently.hpp"
#include "session_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using coding::format;
using test::answer_read;

std::string coded_by(format how, std::string_view text) {
    const auto with = coding::make_encoder({.to = how});
    return coding::test::encode(*with, text);
}

bool has_all() {
    return coding::is_available(format::gzip) && coding::is_available(format::br) &&
           coding::is_available(format::zstd);
}

task<void> echo_rest(body_reader* from, body_writer* to) {
    for (;;) {
        const std::string_view piece = co_await from->read();
        if (piece.empty())
            break;
        co_await to->write(piece);
    }
    const std::string_view again = co_await from->read();
    if (!again.empty())
        co_await to->write("MORE");
}

/// A server that echoes: at / what it has read whole, at /pieces piece by piece, at /late from a
/// producer, and says at /none that it has read nothing; at /few it takes no more than 10 bytes.
class decoded {
public:
    explicit decoded(decoding_options options = {}) : driver_(routes_of(options)) {}

    answer_read post(std::string_view codings, std::string_view content,
                     std::string_view path = "/", bool chunked = false) {
        return answer_read(bytes_of(codings, content, path, chunked));
    }
    std::string bytes_of(std::string_view codings, std::string_view content, std::string_view path,
                         bool chunked) {
        std::string text = "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n";
        if (codings != "-")
            text.append("Content-Encoding: ").append(codings).append("\r\n");
        if (!chunked) {
            text.append("Content-Length: ")
                .append(std::to_string(content.size()))
                .append("\r\n\r\n");
            return driver_.exchange(text.append(content));
        }
        text.append("Transfer-Encoding: chunked\r\n\r\n");
        std::string bytes = driver_.exchange(text);
        for (std::string_view rest = content; !rest.empty();) {
            const std::string_view piece = rest.substr(0, 7);
            rest.remove_prefix(piece.size());
            bytes += driver_.exchange(std::to_string(piece.size()) + "\r\n" + std::string(piece) +
                                      "\r\n");
        }
        return bytes + driver_.exchange("0\r\n\r\n");
    }
    test::session_driver& driver() noexcept { return driver_; }

private:
    static router routes_of(decoding_options options) {
        router routes;
        routes.use(http::decoding(options));
        routes
            .post("/",
                  [](const request&, std::string text) { return response::text(std::move(text)); })
            .post("/few",
                  [](request& r) -> task<response> {
                      r.body().limit(10);
                      std::string text = co_await r.text();
                      co_return response::text(std::move(text));
                  })
            .post("/late",
                  [](request& r) -> task<response> {
                      body_reader* const body = &r.body();
                      co_return response::stream(
                          [body](body_writer& to) { return echo_rest(body, &to); });
                  })
            .post("/none", [] { return response::text("none"); })
            .post("/length", [](request& r) -> task<response> {
                co_return response::text(r.body().length() ? "known" : "unknown");
            });
        return routes;
    }
    test::session_driver driver_;
};

TEST_CASE("content is decoded before its handler reads it") {
    for (const format each : {format::gzip, format::br, format::zstd}) {
        if (!coding::is_available(each))
            continue;
        decoded server;
        for (const std::size_t size : {0U, 1U, 5'000U, 500'000U}) {
            const std::string text = coding::test::prose(size / 2) + coding::test::noise(size / 2);
            const std::string coded = coded_by(each, text);
            for (const auto* const path : {"/", "/late"}) {
                const auto answer = server.post(coding::to_string(each), coded, path);
                CHECK(answer.status == 200);
                CHECK(answer.text() == text);
            }
            if (size <= 5'000)
                CHECK(server.post(coding::to_string(each), coded, "/", true).text() == text);
        }
        CHECK(server.post(coding::to_string(each), coded_by(each, "a"), "/none").text() == "none");
        CHECK(server.post(coding::to_string(each), coded_by(each, "a"), "/length").text() ==
              "unknown");
        CHECK(server.post("-", "as it is").text() == "as it is");
        CHECK(server.post("identity", "as it is").text() == "as it is");
        CHECK(server.post("", "as it is", "/length").text() == "known");
        CHECK(!server.driver().ended());
    }
}

TEST_CASE("several codings are taken off in their order") {
    if (!has_all())
        return;
    decoded server;
    const std::string text = coding::test::prose(50'000);
    const std::string two = coded_by(format::br, coded_by(format::gzip, text));
    CHECK(server.post("gzip, br", two).text() == text);
    CHECK(server.post("X-Gzip,identity, BR", two, "/late").text() == text);
    CHECK(server.post("br, gzip", two).status == 400);
    const std::string three = coded_by(format::zstd, two);
    CHECK(server.post("gzip, br, zstd", three).text() == text);
    CHECK(server.post("gzip, br, zstd", three, "/", true).text() == text);
    const auto four = server.post("gzip, br, zstd, gzip", coded_by(format::gzip, three));
    CHECK(four.status == 415);
}

TEST_CASE("what cannot be decoded is a 415 that says what can") {
    decoded server;
    for (const auto* const other : {"deflate", "compress", "gzip, deflate", "gzip;q=1", "*"}) {
        const auto answer = server.post(other, "content");
        CHECK(answer.status == 415);
        if (has_all())
            CHECK(answer.field("Accept-Encoding") == "zstd, br, gzip");
        CHECK(answer.field("Content-Encoding") == "-");
    }
    CHECK(server.post("-", "and on").text() == "and on");
}

TEST_CASE("what is broken, cut short or longer than itself is a 400") {
    const std::string text = coding::test::prose(3'000);
    for (const format each : {format::gzip, format::br, format::zstd}) {
        if (!coding::is_available(each))
            continue;
        decoded server;
        const std::string name(coding::to_string(each));
        const std::string coded = coded_by(each, text);
        for (std::size_t size = 0; size < coded.size(); size += size < 30 ? 1 : 37)
            REQUIRE(server.post(name, std::string_view(coded).substr(0, size)).status == 400);
        for (const auto* const behind : {"x", "\n", "\x1f", "\x28\xb5"})
            CHECK(server.post(name, coded + behind).status == 400);
        CHECK(server.post(name, coded + std::string(1, '\0')).status == 400);
        CHECK(server.post(name, "plain text that is not compressed").status == 400);
        CHECK(server.post(name, text).status == 400);
        const auto twice = server.post(name, coded + coded);
        CHECK(twice.status == (each == format::br ? 400 : 200)); // RFC 1952, RFC 8878: several
        if (each != format::br)
            CHECK(twice.text() == text + text);
        CHECK(server.post(name, coded).text() == text);
        CHECK(!server.driver().ended());
        CHECK(server.post(name, coded.substr(0, 20), "/none").text() == "none");
    }
}

TEST_CASE("an error that comes when the answer has begun cuts it") {
    if (!coding::is_available(format::gzip))
        return;
    decoded server;
    const std::string coded = coded_by(format::gzip, coding::test::noise(300'000));
    const std::string bytes =
        server.bytes_of("gzip", std::string_view(coded).substr(0, 200'000), "/late", false);
    CHECK(bytes.starts_with("HTTP/1.1 200 "));
    CHECK(!bytes.ends_with("0\r\n\r\n"));
    CHECK(server.driver().ended());
}

TEST_CASE("content that grows beyond its limit is a 413, however it was packed") {
    decoding_options options;
    options.bytes_max = 100'000;
    for (const format each : {format::gzip, format::br, format::zstd}) {
        if (!coding::is_available(each))
            continue;
        decoded server(options);
        const std::string name(coding::to_string(each));
        const std::string fits(100'000, 'x');
        CHECK(server.post(name, coded_by(each, fits)).text() == fits);
        CHECK(server.post(name, coded_by(each, fits + "x")).status == 413);
        CHECK(server.post(name, coded_by(each, coding::test::noise(100'000))).status == 200);
        const std::string bomb = coded_by(each, std::string(30'000'000, '\0'));
        CHECK(server.post(name, bomb).status == 413);
        CHECK(server.post(name, coded_by(each, "0123456789"), "/few").text() == "0123456789");
        CHECK(server.post(name, coded_by(each, "0123456789a"), "/few").status == 413);
        // What is inside is small, but what it is packed in is not.
        CHECK(server.post(name + ", " + name, coded_by(each, bomb)).status == 413);
    }
}

router routes_limited() {
    router routes;
    routes.use(body_limit(100)).use(http::decoding());
    routes
        .post("/", [](const request&, std::string text) { return response::text(std::move(text)); })
        .post("/more", [](request& r) -> task<response> {
            r.body().limit(1'000);
            std::string text = co_await r.text();
            co_return response::text(std::move(text));
        });
    return routes;
}

TEST_CASE("a limit that was set before holds for what is decoded") {
    if (!coding::is_available(format::gzip))
        return;
    for (const char* const path : {"/", "/more"}) {
        for (const auto& [size, status] : {std::pair(100U, 200), std::pair(101U, 413)}) {
            test::session_driver driver(routes_limited());
            const std::string coded = coded_by(format::gzip, std::string(size, 'x'));
            const std::string head = "POST " + std::string(path) +
                                     " HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
                                     "Content-Length: " +
                                     std::to_string(coded.size()) + "\r\n\r\n";
            CHECK(answer_read(driver.exchange(head + coded)).status == status);
        }
    }
}

TEST_CASE("a bomb between two codings is stopped there") {
    if (!has_all())
        return;
    decoding_options options;
    options.bytes_max = 100'000;
    decoded server(options);
    // Gzip members that hold nothing: little for br, nothing in the end.
    std::string members;
    const std::string nothing = coded_by(format::gzip, "");
    while (members.size() < 3'000'000)
        members += nothing;
    const std::string packed = coded_by(format::br, members);
    CHECK(packed.size() < 1'000);
    CHECK(server.post("gzip, br", packed).status == 413);
    CHECK(server.post("gzip", members.substr(0, nothing.size() * 500)).text().empty());
}

TEST_CASE("what decoders hold in all is bounded") {
    if (!coding::is_available(format::zstd))
        return;
    decoding_options options;
    options.memory_bytes_max = 1'000'000;
    decoded server(options);
    const auto with = coding::make_encoder({.to = format::zstd, .window_bits = 22});
    std::string wide = coding::test::encode(*with, "a", coding::flush::sync);
    wide += coding::test::encode(*with, "", coding::flush::end);
    CHECK(server.post("zstd", wide).status == 503);
    CHECK(server.post("zstd", coded_by(format::zstd, "a")).text() == "a");
}

TEST_CASE("the 400 for zstd names the window, which may be all that is wrong") {
    if (!coding::is_available(format::zstd))
        return;
    decoded server;
    const std::string wide("\x28\xb5\x2f\xfd\0\x70\1\0\0", 9); // 16 MiB of it, and nothing in it
    const auto answer = server.post("zstd", wide);
    CHECK(answer.status == 400);
    CHECK(answer.text().find("a window above 8 MiB") != std::string::npos);
}

TEST_CASE("the first read still asks for what was expected") {
    if (!coding::is_available(format::gzip))
        return;
    decoded server;
    const std::string coded = coded_by(format::gzip, "text");
    const std::string begin = server.driver().exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nExpect: 100-continue\r\n"
        "Content-Length: " +
        std::to_string(coded.size()) + "\r\n\r\n");
    CHECK(begin == "HTTP/1.1 100 Continue\r\n\r\n");
    CHECK(answer_read(server.driver().exchange(coded)).text() == "text");
    const std::string refused = server.driver().exchange(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: foo\r\nExpect: 100-continue\r\n"
        "Content-Length: 5\r\n\r\n");
    CHECK(refused.starts_with("HTTP/1.1 415 "));
}

TEST_CASE("a read that is given up while it waits can be repeated") {
    if (!coding::is_available(format::gzip))
        return;
    router routes;
    routes.use(http::decoding());
    routes.post("/", test::read_patiently);
    test::session_driver driver(std::move(routes));
    const std::string coded = coded_by(format::gzip, "hello world");
    CHECK(driver
              .exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
                        "Content-Length: " +
                        std::to_string(coded.size()) + "\r\n\r\n" + coded.substr(0, 12))
              .empty());
    driver.advance(2'500ms);
    const answer_read answer(driver.exchange(coded.substr(12)));
    CHECK(answer.status == 200);
    CHECK(answer.text() == "hello world after 2");
}

task<std::string> read_once(body_reader* from) {
    std::string how;
    try {
        how = co_await from->read();
    } catch (const http_error& e) {
        how = std::to_string(e.status());
    } catch (const std::logic_error&) {
        how = "refused";
    }
    co_return how;
}

TEST_CASE("two coroutines that read one decoded content are told so, and the first goes on") {
    if (!coding::is_available(format::gzip))
        return;
    router routes;
    routes.use(http::decoding());
    routes.post("/", [](request& asked) -> task<response> {
        auto [one, two] = co_await when_all(read_once(&asked.body()), read_once(&asked.body()));
        const std::string end = co_await read_once(&asked.body());
        co_return response::text(one + ' ' + two + ' ' + end);
    });
    test::session_driver driver(std::move(routes));
    const std::string coded = coded_by(format::gzip, "hello");
    CHECK(driver
              .exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\n"
                        "Content-Length: " +
                        std::to_string(coded.size()) + "\r\n\r\n")
              .empty());
    CHECK(answer_read(driver.exchange(coded)).text() == "hello refused ");
}

} // namespace
} // namespace rota::http
