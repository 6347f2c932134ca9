#include <rota/http/chunked.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

/// What chunks hold, read in pieces of this many bytes; "!status" for what is refused.
std::string decoded(std::string_view bytes, std::size_t at_once, std::string* rest = nullptr) {
    chunked_decoder reader;
    std::string content;
    std::string left;
    try {
        while (!bytes.empty() || !left.empty()) {
            left.append(bytes.substr(0, at_once));
            bytes.remove_prefix(std::min(at_once, bytes.size()));
            for (;;) {
                const auto [what, consumed] = reader.feed(left);
                if (what == chunked_decoder::event::piece)
                    content += reader.piece();
                left.erase(0, consumed);
                if (what == chunked_decoder::event::complete) {
                    if (rest != nullptr)
                        *rest = left + std::string(bytes);
                    for (const header_field field : reader.trailers())
                        content.append("|").append(field.name).append("=").append(field.value);
                    return content;
                }
                if (what == chunked_decoder::event::need_more)
                    break;
            }
        }
    } catch (const http_error& e) {
        return "!" + std::to_string(e.status());
    }
    return content + "...";
}

TEST_CASE("chunks come apart as they were put together, however they are cut") {
    headers trailers;
    trailers.add("Checksum", "12");
    std::string wire;
    append_chunk(wire, "hello ");
    append_chunk(wire, "");
    append_chunk_size(wire, 17);
    wire += "wide, wide world.\r\n";
    append_last_chunk(wire, trailers);
    const std::string whole = wire + "GET / HTTP/1.1\r\n";
    for (std::size_t at_once = 1; at_once <= whole.size(); ++at_once) {
        CAPTURE(at_once);
        std::string rest;
        CHECK(decoded(whole, at_once, &rest) == "hello wide, wide world.|Checksum=12");
        CHECK(rest == "GET / HTTP/1.1\r\n");
    }
}

TEST_CASE("what is no chunk is refused, and what is too large") {
    CHECK(decoded("5\r\nhello", 3) == "hello...");
    CHECK(decoded("0x5\r\nhello\r\n", 100) == "!400");
    CHECK(decoded("5\nhello\r\n", 100) == "!400");
    CHECK(decoded("5\r\nhello!", 100) == "!400");
    CHECK(decoded("-1\r\n", 100) == "!400");
    CHECK(decoded("0\r\nContent-Length: 5\r\n\r\n", 100) == "!400");
    CHECK(decoded("7fffffff\r\n", 100) == "!413");
    CHECK(decoded("10000000000000000\r\n", 100) == "!413");
}

TEST_CASE("an error stays one") {
    chunked_decoder reader;
    CHECK_THROWS_AS(reader.feed("x\r\n"), http_error);
    CHECK_THROWS_AS(reader.feed("0\r\n\r\n"), http_error);
}

TEST_CASE("limits of the head are not those of chunks") {
    parser_limits limits;
    limits.request_line_bytes_max = 1;
    limits.head_bytes_max = 1;
    limits.header_count_max = 0;
    limits.body_bytes_max = 3;
    chunked_decoder reader(limits);
    chunked_decoder moved(std::move(reader));
    CHECK(moved.feed("3\r\nabc\r\n").what == chunked_decoder::event::piece);
    CHECK_THROWS_AS(moved.feed("\r\n1\r\n"), http_error);
}

} // namespace
} // namespace rota::http
