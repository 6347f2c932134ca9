#include "answer.hpp"

#include <catch2/catch_test_macros.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

using pace::answer_reader;

namespace {

const std::string whole = "HTTP/1.1 200 OK\r\nDate: today\r\ncontent-length: 5 \r\n\r\nHello";

void refuse(std::string_view text) {
    answer_reader reader;
    INFO(text);
    CHECK_THROWS_AS(reader.take(text), std::runtime_error);
}

} // namespace

TEST_CASE("answer: cut at every place") {
    answer_reader reader;
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        REQUIRE(!reader.take(std::string_view(whole).substr(0, cut)));
        REQUIRE(reader.take(std::string_view(whole).substr(cut)));
        CHECK(!reader.last());
    }
}

TEST_CASE("answer: byte by byte") {
    answer_reader reader;
    for (int times = 0; times < 2; ++times) {
        for (std::size_t i = 0; i < whole.size(); ++i)
            REQUIRE(reader.take(std::string_view(whole).substr(i, 1)) == (i + 1 == whole.size()));
    }
}

TEST_CASE("answer: without content") {
    answer_reader reader;
    CHECK(reader.take("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n"));
    CHECK(reader.last());
    CHECK(reader.take(whole));
    CHECK(!reader.last());
}

TEST_CASE("answer: what is none") {
    refuse("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    refuse("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n");
    refuse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n");
    refuse("SSH-2.0-x\r\n\r\n");
    refuse("HTTP/1.1 200 OK\r\n\r\n");
    refuse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    refuse("HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n");
    refuse("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n");
    refuse("HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\nx");
    refuse("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx");
    refuse(whole + "!");
    refuse(std::string(100'000, 'x'));
}
