#include <rota/http/headers.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("fields are kept in their order and found by name in any case") {
    headers fields;
    CHECK(fields.empty());
    fields.add("X-One", "1");
    fields.add("Set-Cookie", "a=b");
    fields.add("Set-Cookie", "  c=d\t");
    CHECK(fields.wire() == "X-One: 1\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n");
    CHECK(fields.find("x-one") == "1");
    CHECK(fields.find("SET-COOKIE") == "a=b");
    CHECK_FALSE(fields.find("X-On"));
    fields.set("set-cookie", "e");
    CHECK(fields.wire() == "X-One: 1\r\nset-cookie: e\r\n");
    CHECK(fields.remove("X-ONE"));
    CHECK_FALSE(fields.remove("X-ONE"));
    CHECK(fields.wire() == "set-cookie: e\r\n");
    CHECK(fields.remove("set-cookie"));
    CHECK(fields.empty());
    fields.add("X-Empty", "");
    CHECK(fields.find("X-Empty") == "");
}

TEST_CASE("fields move to the heap when there are many, and come back") {
    headers fields;
    std::string expected;
    for (int i = 0; i < 40; ++i) {
        const std::string name = "X-" + std::to_string(i);
        fields.add(name, "value");
        expected += name + ": value\r\n";
        REQUIRE(fields.wire() == expected);
    }
    const headers copy = fields;
    for (int i = 0; i < 39; ++i)
        REQUIRE(fields.remove("X-" + std::to_string(i)));
    CHECK(fields.wire() == "X-39: value\r\n");
    CHECK(copy.wire() == expected);
    headers moved = std::move(fields);
    moved.set("X-39", std::string(300, 'v'));
    CHECK(moved.find("X-39")->size() == 300);
}

TEST_CASE("a value may come from the set itself") {
    headers fields;
    fields.add("A", std::string(60, 'x'));
    fields.add("B", "y");
    fields.set("A", *fields.find("A"));
    fields.set("C", *fields.find("A"));
    CHECK(fields.find("A") == std::string(60, 'x'));
    CHECK(fields.find("C") == std::string(60, 'x'));
}

TEST_CASE("nothing can be smuggled into a response") {
    headers fields;
    fields.add("Location", "/");
    using namespace std::string_view_literals;
    for (std::string_view value : {"a\r\nSet-Cookie: b"sv, "a\nb"sv, "a\rb"sv, "a\0b"sv, "\x01"sv,
                                   "\x7f"sv, "a\r\n\r\n<html>"sv}) {
        CHECK_THROWS_AS(fields.add("X", value), std::invalid_argument);
        CHECK_THROWS_AS(fields.set("Location", value), std::invalid_argument);
    }
    for (std::string_view name : {""sv, "a b"sv, "a:"sv, "a\r\nb"sv, "\xc3\xa9"sv, "a\0"sv}) {
        CHECK_THROWS_AS(fields.add(name, "v"), std::invalid_argument);
    }
    for (std::string_view name :
         {"content-length", "Transfer-Encoding", "CONNECTION", "Keep-Alive"}) {
        CHECK_THROWS_AS(fields.add(name, "v"), std::invalid_argument);
        CHECK_THROWS_AS(fields.set(name, "v"), std::invalid_argument);
    }
    CHECK(fields.wire() == "Location: /\r\n");
    fields.add("X", "t\tab \xc3\xa9");
    CHECK(fields.find("X") == "t\tab \xc3\xa9");
}

TEST_CASE("a field that has one value is there once, however it is added") {
    headers h;
    h.append_trusted_type("text/plain");
    h.add("Vary", "a");
    h.add("content-type", "text/csv");
    h.add("Vary", "b");
    CHECK(h.wire() == "Vary: a\r\ncontent-type: text/csv\r\nVary: b\r\n");
    h.add("Date", "now");
    h.add("Date", "then");
    CHECK(h.find("date") == "then");
    CHECK(h.has_date());
    CHECK(h.remove("Date"));
    CHECK_FALSE(h.find("date"));
}

TEST_CASE("fields that say nothing in an answer are left out") {
    headers h;
    h.add("TE", "trailers");
    h.set("Proxy-Connection", "keep-alive");
    CHECK(h.empty());
    CHECK_THROWS_AS(h.add("TE", "a\r\nb"), std::invalid_argument);
}

TEST_CASE("a Date of one's own is noticed") {
    headers fields;
    CHECK_FALSE(fields.has_date());
    fields.set("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK(fields.has_date());
    fields.remove("DATE");
    CHECK_FALSE(fields.has_date());
}

TEST_CASE("an Upgrade is noticed") {
    headers fields;
    CHECK_FALSE(fields.has_upgrade());
    fields.add("UPGRADE", "x");
    CHECK(fields.has_upgrade());
    fields.set("upgrade", "y");
    CHECK(fields.has_upgrade());
    fields.remove("Upgrade");
    CHECK_FALSE(fields.has_upgrade());
}

} // namespace
} // namespace rota::http
