#include "plain_field.hpp"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "parser_driver.hpp"

namespace rota::http {
namespace {

using namespace std::string_literals;

/// Name and value of a plain line, joined by '|'; "-" if it is not plain.
std::string read(std::string_view line) {
    const std::string head = "0123456" + std::string(line);
    bool has_length = false;
    const auto field = read_plain_field(std::string_view(head).substr(7), 7, has_length);
    if (!field)
        return "-";
    return head.substr(field->name.offset, field->name.size) + "|" +
           head.substr(field->value.offset, field->value.size);
}

TEST_CASE("what is a plain field, and what llhttp has to read") {
    CHECK(read("Host: a") == "Host|a");
    CHECK(read("host:a:80") == "host|a:80");
    CHECK(read("X-Empty:") == "X-Empty|");
    CHECK(read("X-Blank: \t ") == "X-Blank|");
    CHECK(read("X: \t b c \t") == "X|b c");
    CHECK(read("X: \xc3\xa9") == "X|\xc3\xa9");
    CHECK(read("Connection: close") == "Connection|close");
    CHECK(read("Content-Lengths: x") == "Content-Lengths|x");
    CHECK(read("content-Length:\t1 ") == "content-Length|1");
    CHECK(read("Content-Length: 123456789012345678") == "Content-Length|123456789012345678");
    for (const std::string_view line :
         {"", ":", ": a", "a", "Host : a", "A B: c", "A(: b", "A\xe9: b", " A: b",
          "Content-Length:", "Content-Length: +1", "Content-Length: 1,1", "Content-Length: 0x1",
          "content-length: 1 1", "Content-Length: 1234567890123456789",
          "TRANSFER-encoding: chunked"}) {
        CAPTURE(line);
        CHECK(read(line) == "-");
    }
    bool has_length = false;
    CHECK(read_plain_field("Content-Length: 1", 0, has_length));
    CHECK(read_plain_field("Content: 1", 0, has_length));
    CHECK_FALSE(read_plain_field("content-length: 1", 0, has_length));
}

/// Whether the parser says the same of `bytes` with and without its own reading of plain lines.
void check_alike(std::string_view bytes) {
    const std::vector<std::string_view> whole{bytes};
    const test::transcript ours = test::run(whole);
    const test::transcript by_llhttp = test::run(whole, {}, true);
    CAPTURE(bytes);
    REQUIRE(ours.text == by_llhttp.text);
    REQUIRE(ours.status == by_llhttp.status);
    REQUIRE(std::string_view(ours.reason) == by_llhttp.reason);
    const test::transcript in_pieces = test::run(test::byte_by_byte(bytes));
    REQUIRE(in_pieces.text == by_llhttp.text);
    REQUIRE(in_pieces.status == by_llhttp.status);
}

TEST_CASE("every byte at every place of a head means what it means to llhttp") {
    const std::string head = "GET /a?b HTTP/1.1\r\nHost: c\r\nX-y:\td \r\nConnection: close\r\n"
                             "Content-Length: 10\r\n\r\n";
    for (std::size_t at = 0; at < head.size(); ++at) {
        for (int byte = 0; byte < 256; ++byte) {
            std::string changed = head;
            changed[at] = static_cast<char>(byte);
            check_alike(changed);
            changed.insert(at, 1, head[at]);
            check_alike(changed);
        }
    }
}

TEST_CASE("heads made of odd parts mean what they mean to llhttp") {
    const std::vector<std::string> starts{
        "GET / HTTP/1.1",        "GET /?? HTTP/1.1",           "HEAD /%41?%zz HTTP/1.0",
        "POST /a/../b HTTP/1.1", "OPTIONS * HTTP/1.1",         "GET http://h/p?q HTTP/1.1",
        "DELETE /[1] HTTP/1.1",  "GET /a|b\"<> HTTP/1.1",      "CONNECT h:1 HTTP/1.1",
        "PATCH /x#y HTTP/1.1",   "\r\nPUT /\xc3\xa9 HTTP/1.1", "get / HTTP/1.1",
        "GET  / HTTP/1.1",       "TRACE /;=:@ HTTP/1.1",       "GET a HTTP/1.1"};
    const std::vector<std::string> fields{
        "Host: a",
        "host:",
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "Connection: keep-alive",
        "Proxy-Connection: close",
        "Content-Length: 0",
        "Content-Length: 3",
        "Content-Length: 03\t",
        "Content-Length: 3 3",
        "Content-Length: 123456789012345678",
        "Content-Length: 1234567890123456789",
        "content-length: 18446744073709551616",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip, chunked",
        "Expect: 100-continue",
        "X: \xff\t\x80",
        "X : y",
        "X",
        ": y",
        " folded",
        "User-Agent: a (b; c) \"d\"",
        "Cookie: a=b; c=d",
        "Sec-WebSocket-Key: x==",
    };
    std::minstd_rand random(20261121); // NOLINT: the same heads every time
    const auto one_of = [&random](const std::vector<std::string>& list) -> const std::string& {
        return list[random() % list.size()];
    };
    for (int round = 0; round < 20'000; ++round) {
        std::string head = one_of(starts) + "\r\n";
        if (random() % 4 != 0)
            head += "Host: b\r\n";
        for (auto count = random() % 4; count > 0; --count)
            head += one_of(fields) + "\r\n";
        head += "\r\n";
        if (random() % 2 == 0)
            head += "3\r\nabc\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n";
        check_alike(head);
    }
}

} // namespace
} // namespace rota::http
