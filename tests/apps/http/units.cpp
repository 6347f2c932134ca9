#include "units.hpp"

#include <chrono>
#include <optional>
#include <string>

#include <catch2/catch_test_macros.hpp>

using namespace rota_http;
using namespace std::chrono_literals;

TEST_CASE("times") {
    CHECK(parse_duration("500ms") == 500ms);
    CHECK(parse_duration("10s") == 10s);
    CHECK(parse_duration("10") == 10s);
    CHECK(parse_duration("5m") == 5min);
    CHECK(parse_duration("2h") == 2h);
    CHECK(parse_duration("0") == 0ms);
    for (const char* text : {"", "s", "-1s", "1.5s", "1 s", "10sec", "1d", "1s ", "99999999999h",
                             "18446744073709551616", "0x10"}) {
        CAPTURE(text);
        CHECK(parse_duration(text) == std::nullopt);
    }
}

TEST_CASE("numbers are decimal digits") {
    CHECK(parse_number("0") == 0);
    CHECK(parse_number("18446744073709551615") == 18'446'744'073'709'551'615U);
    for (const char* text :
         {"", " 0", "0 ", "+1", "-1", "0x10", "1e3", "1.5", "18446744073709551616"}) {
        CAPTURE(text);
        CHECK(parse_number(text) == std::nullopt);
    }
}

TEST_CASE("sizes") {
    CHECK(parse_bytes("1000") == 1000);
    CHECK(parse_bytes("1000B") == 1000);
    CHECK(parse_bytes("64K") == 65'536);
    CHECK(parse_bytes("64k") == 65'536);
    CHECK(parse_bytes("64KB") == 65'536);
    CHECK(parse_bytes("64KiB") == 65'536);
    CHECK(parse_bytes("16M") == 16'777'216);
    CHECK(parse_bytes("2GiB") == 2'147'483'648);
    for (const char* text :
         {"", "K", "-1", "1T", "1 K", "1KK", "1iB", "iB", "1.5M", "99999999999999999G"}) {
        CAPTURE(text);
        CHECK(parse_bytes(text) == std::nullopt);
    }
}

TEST_CASE("what is shown can be read again") {
    CHECK(to_text(10s) == "10s");
    CHECK(to_text(1500ms) == "1500ms");
    CHECK(to_text(90s) == "90s");
    CHECK(to_text(2min) == "2m");
    CHECK(to_text(0ms) == "0ms");
    CHECK(bytes_to_text(16'777'216) == "16M");
    CHECK(bytes_to_text(1000) == "1000");
    CHECK(parse_duration(to_text(1500ms)) == 1500ms);
    CHECK(parse_bytes(bytes_to_text(65'536)) == 65'536);
}

TEST_CASE("workers") {
    const auto read = [](const char* text, std::size_t least, std::size_t most) {
        CAPTURE(text);
        const auto range = parse_workers(text);
        REQUIRE(range);
        CHECK(range->least == least);
        CHECK(range->most == most);
    };
    read("0", 0, 0);
    read("4", 4, 0);
    read("256", 256, 0);
    read("1-8", 1, 8);
    read("3-3", 3, 3);
    read("1-256", 1, 256);
    for (const char* text : {"", "-", "-1", "1-", "1-0", "8-1", "0-8", "1-257", "257", "1-2-3",
                             "1 - 8", "1-8 ", "x", "1.5"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_workers(text));
    }
}
