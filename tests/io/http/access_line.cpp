#include "access_line.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include <rota/http/request.hpp>

namespace rota::http {
namespace {

using namespace std::chrono_literals;

// 2026-11-24T17:00:00.123Z
const std::chrono::system_clock::time_point now{1'795'539'600'123ms};

struct asked {
    asked() { head.base = ""; }
    /// Adds a field.
    asked& with(std::string_view name, std::string_view value) {
        const auto put = [this](std::string_view piece) {
            const text_span where{static_cast<std::uint32_t>(text.size()),
                                  static_cast<std::uint32_t>(piece.size())};
            text += piece;
            return where;
        };
        head.fields.push_back({put(name), put(value)});
        head.base = text.data();
        return *this;
    }
    request_head head;
    std::string text;
};

std::string line(const asked& of, access_log_format how, std::string_view peer = "192.0.2.1:4711",
                 std::string_view target = "/a?b=c", std::size_t max = 2'048) {
    const request req(of.head, nullptr);
    std::string to;
    append_access_line(to, {peer, "GET", target, 200, 1'234, 56us, "HTTP/1.1", &req}, how, now,
                       max);
    return to;
}

constexpr auto combined = access_log_format::combined;
constexpr auto json = access_log_format::json;

} // namespace

TEST_CASE("combined") {
    CHECK(line(asked(), combined) == "192.0.2.1 - - [24/Nov/2026:17:00:00 +0000] "
                                     "\"GET /a?b=c HTTP/1.1\" 200 1234 \"-\" \"-\"\n");
    CHECK(line(asked().with("Referer", "http://b/").with("User-Agent", "curl/8"), combined)
              .ends_with(" 1234 \"http://b/\" \"curl/8\"\n"));
    CHECK(line(asked(), combined, "[2001:db8::1]:80").starts_with("2001:db8::1 - - ["));
    std::string unread;
    append_access_line(unread, {"192.0.2.1:1", "", "", 400, 99, 5us, "", nullptr}, combined, now,
                       10);
    CHECK(unread == "192.0.2.1 - - [24/Nov/2026:17:00:00 +0000] \"-\" 400 99 \"-\" \"-\"\n");
    unread.clear();
    append_access_line(unread, {"192.0.2.1:1", "GET", "/a", 431, 99, 5us, "HTTP/2", nullptr},
                       combined, now, 10);
    CHECK(unread.find("] \"GET /a HTTP/2.0\" 431 99 \"-\" \"-\"\n") != std::string::npos);
}

TEST_CASE("nothing that a client sends becomes a field or a line of combined") {
    const std::string hostile = "a\" 200 0 \"x\\\"\r\n127.0.0.1 - - [\x1b[31m\x7f\xc3\xa4\t";
    const std::string got = line(asked().with("User-Agent", hostile).with("Referer", "\""),
                                 combined, "unix:/tmp/a b\n\"c", hostile);
    CHECK(got.find('\n') == got.size() - 1);
    CHECK(got.starts_with("unix - - ["));
    CHECK(
        got.find("\"GET a\\\" 200 0 \\\"x\\\\\\\"\\x0d\\x0a127.0.0.1 - - [\\x1b[31m\\x7f\\xc3\\xa4"
                 "\\x09 HTTP/1.1\" 200 1234 \"\\\"\" \"a\\\"") != std::string::npos);
    for (const char c : got)
        CHECK((c == '\n' || (c >= ' ' && c < '\x7f')));
    CHECK(line(asked(), combined, "_a b").starts_with("_a\\x20b - - ["));
}

TEST_CASE("JSON") {
    CHECK(line(asked(), json) ==
          R"({"time":"2026-11-24T17:00:00.123Z","peer":"192.0.2.1:4711","method":"GET",)"
          R"("target":"/a?b=c","status":200,"bytes":1234,"duration_us":56,)"
          R"("protocol":"HTTP/1.1","scheme":"http"})"
          "\n");
    CHECK(line(asked().with("Referer", "r").with("User-Agent", "u"), json)
              .ends_with(",\"referer\":\"r\",\"user_agent\":\"u\"}\n"));
    std::string unread;
    append_access_line(unread, {"p", "", "", 400, 99, 5us, "", nullptr}, json, now, 10);
    CHECK(unread == "{\"time\":\"2026-11-24T17:00:00.123Z\",\"peer\":\"p\",\"status\":400,"
                    "\"bytes\":99,\"duration_us\":5}\n");
    unread.clear();
    append_access_line(unread, {"p", "GET", "/a", 431, 99, 5us, "HTTP/2", nullptr}, json, now, 10);
    CHECK(unread.find("\"duration_us\":5,\"protocol\":\"HTTP/2\"}\n") != std::string::npos);
}

TEST_CASE("what a client sends is a text of JSON, also if it is no UTF-8") {
    const auto agent = [](std::string_view text) {
        const std::string got = line(asked().with("User-Agent", text), json);
        const std::size_t at = got.find("\"user_agent\":\"") + 14;
        return got.substr(at, got.size() - at - 3);
    };
    CHECK(agent("a\"b\\c\r\n\t\x01\x7f") == "a\\\"b\\\\c\\u000d\\u000a\\u0009\\u0001\\u007f");
    CHECK(agent("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") == "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK(agent("\xc3") == "\\u00c3");
    CHECK(agent("\x80z") == "\\u0080z");
    CHECK(agent("\xc0\xaf") == "\\u00c0\\u00af");                       // "/", too long
    CHECK(agent("\xe0\x80\xaf") == "\\u00e0\\u0080\\u00af");            // the same
    CHECK(agent("\xed\xa0\x80") == "\\u00ed\\u00a0\\u0080");            // a surrogate
    CHECK(agent("\xf4\x90\x80\x80") == "\\u00f4\\u0090\\u0080\\u0080"); // beyond Unicode
    // Line ends, controls and directions of Unicode; what is beside them stays.
    CHECK(agent("\xc2\x80\xc2\x9f\xc2\xa0") == "\\u0080\\u009f\xc2\xa0");
    CHECK(agent("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9") == "\xe2\x80\xa7\\u2028\\u2029");
    CHECK(agent("\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf") == "\\u202a\\u202e\xe2\x80\xaf");
    CHECK(agent("\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f") == "\xe2\x80\x8d\\u200e\\u200f");
    CHECK(agent("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9") == "\xe2\x81\xa5\\u2066\\u2069");
    CHECK(agent("\xd8\x9c") == "\\u061c");
    CHECK(agent("\xf0\x9f\x98") == "\\u00f0\\u009f\\u0098"); // cut off
}

TEST_CASE("long fields are cut, and it is to be seen") {
    CHECK(line(asked(), combined, "p", "/" + std::string(50, 'a'), 10).find(" /aaaaaaaaa... ") !=
          std::string::npos);
    CHECK(line(asked(), json, "p", "/" + std::string(50, 'a'), 10).find("\"/aaaaaaaaa...\"") !=
          std::string::npos);
    // Never within a character.
    CHECK(line(asked(), json, "p",
               "/12345678\xc3\xbc"
               "9",
               10)
              .find("\"/12345678...\"") != std::string::npos);
    CHECK(line(asked(), json, "p",
               "/1234567\xc3\xbc"
               "9",
               10)
              .find("\"/1234567\xc3\xbc...\"") != std::string::npos);
}

} // namespace rota::http
