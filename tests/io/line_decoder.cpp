#include <rota/io/line_decoder.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

using rota::io::line_decoder;

namespace {

/// Feeds all of `bytes`, in pieces of `size`, and collects the lines.
std::vector<std::string> lines_of(line_decoder& decoder, std::string_view bytes, std::size_t size) {
    std::vector<std::string> lines;
    while (!bytes.empty()) {
        std::string_view piece = bytes.substr(0, size);
        bytes.remove_prefix(piece.size());
        while (!piece.empty()) {
            std::size_t used = 0;
            if (auto line = decoder.feed(piece, used))
                lines.push_back(std::move(*line));
            REQUIRE(used > 0);
            piece.remove_prefix(used);
        }
    }
    return lines;
}

} // namespace

TEST_CASE("lines come out whole however the bytes arrive") {
    const std::size_t size = GENERATE(range(1, 30));
    CAPTURE(size);
    line_decoder decoder;
    const auto lines = lines_of(decoder, "one\r\ntwo\n\r\n\nth\rree\r\r\nrest", size);
    CHECK(lines == std::vector<std::string>{"one", "two", "", "", "th\rree\r"});
    CHECK(decoder.finish() == "rest");
    CHECK(!decoder.finish());
}

TEST_CASE("a CRLF may be cut in two") {
    line_decoder decoder;
    std::size_t used = 0;
    CHECK(!decoder.feed("line\r", used));
    CHECK(used == 5);
    CHECK(decoder.feed("\nnext", used) == "line");
    CHECK(used == 1);
}

TEST_CASE("feed() stops behind the first line") {
    line_decoder decoder;
    std::size_t used = 0;
    CHECK(decoder.feed("a\nb\n", used) == "a");
    CHECK(used == 2);
    CHECK(!decoder.feed("", used));
    CHECK(used == 0);
}

TEST_CASE("the end of the stream gives the unfinished line, a CR at its end included") {
    line_decoder decoder;
    std::size_t used = 0;
    CHECK(!decoder.finish());
    CHECK(!decoder.feed("tail\r", used));
    CHECK(decoder.finish() == "tail\r");
    CHECK(decoder.feed("afresh\n", used) == "afresh");
}

TEST_CASE("the limit counts the line without its end") {
    const std::size_t size = GENERATE(1, 2, 3, 100);
    CAPTURE(size);
    for (const char* fits : {"1234\n", "1234\r\n", "\r\n"}) {
        line_decoder decoder(4);
        CHECK(lines_of(decoder, fits, size).size() == 1);
    }
    for (const char* too_long : {"12345\n", "12345\r\n", "1234\r\r\n", "123456789", "1234\r5"}) {
        line_decoder decoder(4);
        CAPTURE(too_long);
        CHECK_THROWS_AS(lines_of(decoder, too_long, size), std::length_error);
    }
}

TEST_CASE("a line that is too long does not keep its bytes") {
    line_decoder decoder(8);
    std::size_t used = 0;
    CHECK_THROWS_AS(decoder.feed(std::string(1000, 'x'), used), std::length_error);
    CHECK(used == 1000);
    CHECK(!decoder.finish());
}
