#include <rota/http/coding.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/event.hpp>
#include <rota/http/decoding.hpp>

#include "answer_read.hpp"
#include "coded_server.hpp"
#include "io/temporary_file.hpp"

namespace rota::http {
namespace {

using coding::format;
using test::answer_read;
using test::coded;
using test::long_text;
using test::request_of;
using test::there;

TEST_CASE("shared content is coded anew for each answer, as others may follow at its address") {
    std::string buffer = long_text;
    coded server([&buffer] {
        const std::shared_ptr<const char[]> unowned(std::shared_ptr<void>(), buffer.data());
        return response::shared({unowned, buffer.size()}, "text/plain");
    });
    for (const format each : there()) {
        buffer[0] = 'x';
        CHECK(server.ask(coding::to_string(each)).text() == buffer);
        buffer[0] = 'y';
        CHECK(server.ask(coding::to_string(each)).text() == buffer);
    }
}

TEST_CASE("a whole content is coded, with a length, Vary and a weak tag") {
    coded server([] {
        return response::text(long_text).header("ETag", "\"a\"").header("Accept-Ranges", "bytes");
    });
    for (const format each : there()) {
        const auto answer = server.ask(coding::to_string(each));
        CHECK(answer.status == 200);
        CHECK(answer.field("Content-Encoding") == coding::to_string(each));
        CHECK(answer.field("Content-Length") == std::to_string(answer.raw.size()));
        CHECK(answer.field("Vary") == "Accept-Encoding");
        CHECK(answer.field("ETag") == "W/\"a\"");
        CHECK(answer.field("Accept-Ranges") == "-");
        CHECK(answer.raw.size() < long_text.size() / 2);
        CHECK(answer.text() == long_text);
    }
    for (const auto* const plain : {"-", "", "identity", "deflate", "gzip;q=0"}) {
        const auto answer = server.ask(plain);
        CHECK(answer.field("Content-Encoding") == "-");
        CHECK(answer.field("Vary") == "Accept-Encoding");
        CHECK(answer.field("ETag") == "\"a\"");
        CHECK(answer.field("Accept-Ranges") == "bytes");
        CHECK(answer.text() == long_text);
    }
}

TEST_CASE("contents of every size come as they were, large ones by blocking()") {
    for (const std::size_t size : {1'024U, 16'384U, 32'767U, 32'768U, 1'000'000U}) {
        const std::string text = coding::test::prose(size);
        coded server([&] { return response::text(text); });
        for (int i = 0; i < 3; ++i) {
            for (const format each : there())
                CHECK(server.ask(coding::to_string(each)).text() == text);
        }
    }
}

TEST_CASE("HEAD has the fields of GET") {
    coded whole([] { return response::text(long_text).header("ETag", "\"a\""); });
    coded streamed([] {
        return response::stream([](body_writer& to) { return to.write(long_text); }, "text/plain");
    });
    coded sized([] {
        return response::stream(
            long_text.size(), [](body_writer& to) { return to.write(long_text); }, "text/plain");
    });
    for (coded* const each : {&whole, &streamed, &sized}) {
        for (const auto* const accept : {"zstd", "br", "gzip", "-", "identity;q=0"}) {
            const auto get = each->ask(accept);
            const auto head = each->ask(accept, "HEAD");
            CHECK(head.status == get.status);
            CHECK(head.head == get.head);
            const std::string rest = each->driver().receive();
            CHECK(rest.empty());
        }
    }
}

TEST_CASE("what is short goes as it is, unless that is refused") {
    for (const std::size_t size : {0U, 1U, 1'023U}) {
        const std::string text(size, 'x');
        coded server([&] { return response::text(text); });
        for (const auto* const accept : {"gzip", "zstd", "*", "-"}) {
            const auto answer = server.ask(accept);
            CHECK(answer.field("Content-Encoding") == "-");
            CHECK(answer.field("Vary") == "Accept-Encoding");
            CHECK(answer.text() == text);
        }
        if (coding::is_available(format::gzip)) {
            const auto answer = server.ask("gzip, identity;q=0");
            CHECK(answer.field("Content-Encoding") == "gzip");
            CHECK(answer.text() == text);
        }
        CHECK(server.ask("*;q=0").status == 406);
    }
    coding_options all;
    all.bytes_min = 0;
    if (coding::is_available(format::gzip)) {
        coded server([] { return response::text("a"); }, all);
        CHECK(server.ask("gzip").text() == "a");
    }
}

TEST_CASE("what must not be coded is not") {
    struct left {
        int status;
        std::string_view name;
        std::string_view value;
        std::string_view vary;
    };
    constexpr std::string_view by_coding = "Accept-Encoding"; // for one that refuses it as it is
    for (const auto& [status, name, value, vary] :
         {left{204, "A", "b", "-"}, left{205, "A", "b", "-"},
          left{200, "Content-Type", "image/png", by_coding},
          left{200, "Content-Type", "video/mp4", by_coding},
          left{200, "Content-Type", "application/zip", by_coding},
          left{200, "Content-Encoding", "gzip", "-"},
          left{200, "Content-Encoding", "aes128gcm", "-"},
          left{200, "Cache-Control", "public, no-transform", by_coding},
          left{200, "Content-Range", "bytes 0-1/2", by_coding},
          left{206, "Content-Range", "bytes 0-4999/50000", by_coding},
          left{206, "Content-Range", "bytes 0-4999/*", by_coding},
          left{206, "Content-Range", "bytes 0-99/100", by_coding},
          left{206, "Content-Type", "multipart/byteranges; boundary=a", by_coding},
          left{206, "Content-Type", "image/png", by_coding}, left{304, "A", "b", by_coding}}) {
        coded server([&] { return response::text(long_text).header(name, value).status(status); });
        INFO(status << ' ' << name << ": " << value);
        for (const auto* const accept : {"gzip", "br", "zstd"}) {
            const auto answer = server.ask(accept);
            CHECK(answer.status == status);
            CHECK(answer.field("Content-Encoding") ==
                  (name == "Content-Encoding" ? std::string(value) : "-"));
            CHECK(answer.field("Vary") == vary);
        }
    }
    coded made([] { return response::text("made").status(201).header("Content-Type", "a/b"); });
    CHECK(made.ask("*;q=0").status == 201);
    CHECK(made.ask("gzip").field("Vary") == "-");
}

TEST_CASE("failures that are long are coded as well") {
    coded server([] { return response::html(long_text).status(404); });
    if (coding::is_available(format::br)) {
        const auto answer = server.ask("br");
        CHECK(answer.status == 404);
        CHECK(answer.text() == long_text);
        CHECK(answer.field("Content-Encoding") == "br");
    }
    CHECK(server.ask("*;q=0").status == 404);
}

TEST_CASE("a 304 has the tag that the client has") {
    coded server([](const request& r) {
        response answer = r.header("If-None-Match") ? response(304) : response::text(long_text);
        return std::move(answer.header("ETag", "\"a\""));
    });
    if (there().empty())
        return;
    CHECK(server.ask("*").field("ETag") == "W/\"a\"");
    CHECK(server.ask("*", "GET", "If-None-Match: W/\"a\"\r\n").field("ETag") == "W/\"a\"");
    CHECK(server.ask("*", "GET", "If-None-Match: \"a\"\r\n").field("ETag") == "\"a\"");
    CHECK(server.ask("-", "GET", "If-None-Match: W/\"a\"\r\n").field("ETag") == "\"a\"");
    CHECK(server.ask("*", "GET", "If-None-Match: W/\"a\"\r\n").field("Vary") == "Accept-Encoding");
}

TEST_CASE("a 304 and a part have the fields of what they stand for") {
    struct stand_in {
        std::string type;
        std::uint64_t length;
        bool is_file;
        bool coded;
    };
    if (there().empty())
        return;
    for (const int status : {304, 206}) {
        for (const auto& [type, length, is_file, would_be_coded] :
             {stand_in{"text/plain", 1'024, false, true},
              stand_in{"text/plain", 1'023, true, false}, stand_in{"image/png", 5'000, true, false},
              stand_in{"", 5'000, true, false}, stand_in{"text/plain", 1'048'576, true, true},
              stand_in{"text/plain", 1'048'577, true, false},
              stand_in{"text/plain", 1'048'577, false, true}}) {
            INFO(status << ' ' << type << ' ' << length);
            coded server([&, type = type, length = length, is_file = is_file] {
                response answer(status);
                answer.header("ETag", "\"a\"").header("Content-Range", "bytes 0-1/5000");
                answer.stands_for({type, length, is_file});
                return answer;
            });
            const std::string weak = would_be_coded && status == 304 ? "W/\"a\"" : "\"a\"";
            for (const auto* const known : {"", "If-None-Match: *\r\n"}) {
                const auto answer = server.ask("*", "GET", known);
                CHECK(answer.field("Vary") == (type.empty() ? "-" : "Accept-Encoding"));
                CHECK(answer.field("ETag") == weak);
                CHECK(server.ask("-", "GET", known).field("ETag") == "\"a\"");
            }
            CHECK(server.ask("*", "GET", "If-None-Match: \"a\"\r\n").field("ETag") == "\"a\"");
        }
    }
}

TEST_CASE("Vary is joined with what the handler varies by") {
    coded server([] { return response::text(long_text).header("Vary", "Cookie"); });
    CHECK(server.ask("gzip").field("Vary") == "Cookie, Accept-Encoding");
    CHECK(server.ask("-").field("Vary") == "Cookie, Accept-Encoding");
}

TEST_CASE("contents that are literals are coded once") {
    coded server([] {
        static constexpr auto text = [] {
            std::array<char, 2'001> all{};
            for (std::size_t i = 0; i < 2'000; ++i)
                all[i] = static_cast<char>('a' + i % 7);
            return all;
        }();
        return response::fixed(text.data());
    });
    for (const format each : there()) {
        const std::string first = server.ask(coding::to_string(each)).raw;
        const auto second = server.ask(coding::to_string(each));
        CHECK(second.raw == first);
        CHECK(second.text().size() == 2'000);
        CHECK(second.field("Content-Length") == std::to_string(first.size()));
    }
}

// --- Streams ---

TEST_CASE("each piece of a stream can be read as soon as it was written") {
    for (const format each : there()) {
        event go_on;
        coded server([&] {
            return response::stream(
                [&](body_writer& to) -> task<void> {
                    for (int i = 0; i < 3; ++i) {
                        co_await to.write("line\n");
                        co_await go_on.wait();
                        go_on.reset();
                    }
                },
                "text/plain");
        });
        const auto out = coding::make_decoder({.from = each});
        std::string bytes = server.driver().exchange(request_of("/", coding::to_string(each)));
        CHECK(bytes.find("\r\nTransfer-Encoding: chunked\r\n") != std::string::npos);
        CHECK(bytes.find("\r\nContent-Length: ") == std::string::npos);
        bytes = bytes.substr(bytes.find("\r\n\r\n") + 4);
        for (int i = 0; i < 3; ++i) {
            const std::string piece = answer_read::unchunked(bytes);
            REQUIRE(piece.ends_with("<no end>"));
            CHECK(coding::test::decode(*out, piece.substr(0, piece.size() - 8)).text == "line\n");
            go_on.set();
            server.driver().scheduler().run();
            bytes = server.driver().receive();
        }
        CHECK(coding::test::decode(*out, answer_read::unchunked(bytes)).now ==
              coding::decoder::state::ended);
    }
}

/// Writes `text` in pieces, of up to `size` bytes.
task<void> write_in(std::string_view text, std::size_t size, body_writer* to) {
    bool owned = false;
    while (!text.empty()) {
        const std::string_view piece = text.substr(0, size);
        text.remove_prefix(piece.size());
        if (std::exchange(owned, !owned))
            co_await to->write_owned(std::string(piece));
        else
            co_await to->write(piece);
        co_await to->flush();
        co_await to->write("");
    }
}

TEST_CASE("streams of all sizes and pieces come as they were") {
    for (const format each : there()) {
        for (const std::size_t size : {0U, 1U, 3'000U, 400'000U}) {
            const std::string text = coding::test::prose(size / 2) + coding::test::noise(size / 2);
            for (const std::size_t piece : {100U, 20'000U, 40'000U, 1'000'000U}) {
                coded server([&](const request& r) {
                    auto producer = [&](body_writer& to) { return write_in(text, piece, &to); };
                    return r.method() == method::post
                               ? response::stream(text.size(), producer, "text/plain")
                               : response::stream(producer, "text/plain");
                });
                for (const auto* const method : {"GET", "POST"}) {
                    const auto answer = server.ask(coding::to_string(each), method);
                    const bool coded = std::string_view(method) == "GET" || text.size() >= 1'024;
                    CHECK(answer.field("Content-Encoding") ==
                          (coded ? coding::to_string(each) : "-"));
                    CHECK(answer.text() == text);
                }
            }
        }
    }
}

TEST_CASE("a stream that is not as long as announced, or fails, is cut") {
    if (there().empty())
        return;
    for (const int difference : {-1, 1}) {
        const std::string text =
            (long_text + "x").substr(0, long_text.size() + static_cast<std::size_t>(difference));
        coded server([&] {
            return response::stream(
                long_text.size(), [&](body_writer& to) { return to.write(text); }, "text/plain");
        });
        const std::string bytes = server.driver().exchange(request_of("/", "*"));
        CHECK(!bytes.ends_with("0\r\n\r\n"));
        CHECK(server.driver().ended() == (difference < 0)); // else nothing has left
        CHECK(bytes.starts_with(difference < 0 ? "HTTP/1.1 200 " : "HTTP/1.1 500 "));
        CHECK(server.driver().errors().size() == 1);
    }
    coded failing([] {
        return response::stream(
            [](body_writer& to) -> task<void> {
                co_await to.write("a");
                throw std::runtime_error("no more");
            },
            "text/plain");
    });
    CHECK(!failing.driver().exchange(request_of("/", "*")).ends_with("0\r\n\r\n"));
    CHECK(failing.driver().ended());
}

TEST_CASE("files are coded up to a size, larger ones only if they have to be") {
    const io::test::temporary_file file(long_text);
    const auto answer = [&file] {
        return response::file(file.slice(), "text/plain").header("ETag", "\"a\"");
    };
    for (const bool large : {false, true}) {
        coded server(answer, {.file_bytes_max = long_text.size() - (large ? 1 : 0)});
        for (const format each : there()) {
            const auto got = server.ask(coding::to_string(each));
            CHECK(got.text() == long_text);
            CHECK(got.field("Content-Encoding") == (large ? "-" : coding::to_string(each)));
            CHECK(got.field("ETag") == (large ? "\"a\"" : "W/\"a\""));
            CHECK(got.field("Vary") == "Accept-Encoding");
            const std::string only = std::string(coding::to_string(each)) + ", identity;q=0";
            CHECK(server.ask(only).field("Content-Encoding") == coding::to_string(each));
        }
        CHECK(server.ask("identity").text() == long_text);
    }
}

TEST_CASE("a file that has changed before any of it is coded is cut, and no 500") {
    const io::test::temporary_file file(long_text);
    coded server([&file] {
        io::file_slice changed = file.slice();
        --changed.facts.modified_ns;
        return response::file(std::move(changed), "text/plain");
    });
    CHECK(server.driver().exchange(request_of("/", "*")).empty());
    CHECK(server.driver().ended());
}

TEST_CASE("trailers go behind what is coded") {
    coded server([] {
        return response::stream(
            [](body_writer& to) {
                to.add_trailer("Sum", "1");
                return to.write("text");
            },
            "text/plain");
    });
    CHECK(server.driver().exchange(request_of("/", "*")).ends_with("0\r\nSum: 1\r\n\r\n"));
}

TEST_CASE("streams beyond what encoders may hold go as they are, or not at all") {
    coding_options options;
    options.memory_bytes_max = 1'000;
    coded server(
        [] {
            return response::stream([](body_writer& to) { return to.write(long_text); },
                                    "text/plain");
        },
        options);
    if (there().empty())
        return;
    const auto answer = server.ask("*");
    CHECK(answer.field("Content-Encoding") == "-");
    CHECK(answer.field("Vary") == "Accept-Encoding");
    CHECK(answer.text() == long_text);
    CHECK(server.ask("*, identity;q=0").status == 503);
}

TEST_CASE("what goes on in another protocol is left alone") {
    coded server(
        [] { return response::upgrade("chat", [](takeover&) -> task<void> { co_return; }); });
    CHECK(server.ask("gzip", "GET", "Connection: upgrade\r\nUpgrade: chat\r\n").status == 101);
}

// With the address sanitizer: what reads decoded content does not outlive its request.
TEST_CASE("what goes on without its request is not tied to the content of that") {
    router routes;
    routes.use(http::decoding());
    routes.get("/", [] {
        return response::upgrade("chat",
                                 [](takeover& client) -> task<void> {
                                     const auto line = co_await client.read_line(100);
                                     co_await client.write_line(line.value_or("none"));
                                 })
            .forget_request();
    });
    test::session_driver server(std::move(routes));
    const std::string asked = request_of("/", "-", "GET",
                                         "Connection: upgrade\r\nUpgrade: chat\r\n"
                                         "Content-Encoding: gzip\r\n");
    CHECK(server.exchange(asked).starts_with("HTTP/1.1 101 "));
    CHECK(server.session_left());
    CHECK(server.exchange("line\n") == "line\n");
    server.finish();
    CHECK(server.ended_well());
}

TEST_CASE("options that make no sense are refused") {
    const auto with = [](auto change) {
        coding_options options;
        change(options);
        return http::coding(std::move(options));
    };
    using o = coding_options;
    CHECK_THROWS_AS(with([](o& of) { of.formats = {format::deflate}; }), std::invalid_argument);
    CHECK_THROWS_AS(with([](o& of) {
                        of.formats = {format::gzip, format::gzip};
                    }),
                    std::invalid_argument);
    CHECK_THROWS_AS(with([](o& of) { of.types = {"text"}; }), std::invalid_argument);
    if (coding::is_available(format::gzip))
        CHECK_THROWS_AS(with([](o& of) { of.gzip_level = 10; }), std::invalid_argument);
    CHECK_NOTHROW(with([](o& of) { of.formats = {}; }));
}

TEST_CASE("the server's order decides between codings that the client likes the same") {
    coding_options options;
    options.formats = {format::gzip, format::br};
    coded server([] { return response::text(long_text); }, options);
    if (there().size() < 3)
        return;
    CHECK(server.ask("zstd, br, gzip").field("Content-Encoding") == "gzip");
    CHECK(server.ask("zstd, br, gzip;q=0.9").field("Content-Encoding") == "br");
    CHECK(server.ask("zstd").field("Content-Encoding") == "-");
}

} // namespace
} // namespace rota::http
