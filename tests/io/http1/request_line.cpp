#include "request_line.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "refusals.hpp"

namespace rota::http {
namespace {

using namespace std::string_literals;
using test::check_all;
using test::end;

TEST_CASE("malformed request lines") {
    check_all({
        {400, "GET /" + end},
        {400, "GET" + end},
        {400, " GET / HTTP/1.1\r\nHost: a" + end},
        {400, "GET  / HTTP/1.1\r\nHost: a" + end},
        {400, "GET /  HTTP/1.1\r\nHost: a" + end},
        {400, "GET / HTTP/1.1 \r\nHost: a" + end},
        {400, "GET /a b HTTP/1.1\r\nHost: a" + end},
        {400, "GET\t/\tHTTP/1.1\r\nHost: a" + end},
        {400, "G@T / HTTP/1.1\r\nHost: a" + end},
        {400, "GE\x01T / HTTP/1.1\r\nHost: a" + end},
        {400, "GET / http/1.1\r\nHost: a" + end},
        {400, "GET / HTTP/1.10\r\nHost: a" + end},
        {400, "GET / HTTP/11\r\nHost: a" + end},
        {400, "GET / HTTP/x.1\r\nHost: a" + end},
        {400, "GET / XTTP/1.1\r\nHost: a" + end},
        {400, "GET / HTTP/1,1\r\nHost: a" + end},
        {400, "\x16\x03\x01\x02\x00\x01\x00"s}, // a TLS greeting, refused before any line ends
        {400, "\nGET / HTTP/1.1\r\nHost: a" + end},
        {400, "\r\n\r\n\r\n\r\n\r\n"},
        {505, "GET / HTTP/2.0\r\nHost: a" + end},
        {505, "GET / HTTP/0.9\r\nHost: a" + end},
        {505, "GET / HTTP/3.1\r\nHost: a" + end},
        {400, "GET / HTTP/1.:\r\nHost: a" + end},
        {400, "GET / HTTP/1.2" + end}, // Host is missing
        {505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
        {505, "BREW / HTTP/2.1\r\nHost: a" + end},
        {400, "BREW a HTTP/1.1\r\nHost: a" + end},
        {400, "BREW / HTTP/1.1" + end},
        {400, "get /%zz HTTP/1.1\r\nHost: a" + end},
    });
}

TEST_CASE("another version is told which are spoken") {
    const auto seen = test::run("GET / HTTP/2.0\r\nHost: a" + end);
    CHECK(std::string_view(seen.reason) == "this connection speaks HTTP/1.1 and HTTP/1.0");
}

TEST_CASE("a method that is not known is read to the end of its message") {
    const std::string text = "/a?b HTTP/1.9\r\nHost: a\r\nX: y\tz\r\nTransfer-Encoding: chunked"s +
                             end + "1\r\nx\r\n0\r\n\r\n" + "GET /next HTTP/1.1\r\nHost: a" + end;
    const std::string read = " /a?b 1.1 host=a path=/a query=b keep chunked [Host|a] [X|y\tz]"
                             " [Transfer-Encoding|chunked]\nx\nend\n"
                             "GET /next 1.1 host=a path=/next query= keep [Host|a]\n\nend\n";
    for (const std::string name : {"X", "get", "BREW", "SOURCE", "PROPFIND", "A-VERY-LONG-NAME"}) {
        CAPTURE(name);
        check_all({{0, name + ' ' + text}});
        CHECK(test::run(name + ' ' + text).text == "_OTHER unfit=501" + read);
        CHECK(test::run(std::vector<std::string_view>{name + ' ' + text}, {}, true).text ==
              "_OTHER unfit=501" + read);
    }
    for (const std::string target : {"*", "/", "http://a", "http://a/b"}) {
        CAPTURE(target);
        check_all({{0, "BREW " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close" + end}});
    }
}

TEST_CASE("malformed request targets") {
    check_all({
        {400, "GET a HTTP/1.1\r\nHost: a" + end},
        {400, "GET * HTTP/1.1\r\nHost: a" + end},
        {400, "OPTIONS *a HTTP/1.1\r\nHost: a" + end},
        {400, "GET a:80 HTTP/1.1\r\nHost: a" + end},
        {400, "CONNECT /a HTTP/1.1\r\nHost: a" + end},
        {400, "CONNECT a HTTP/1.1\r\nHost: a" + end},
        {400, "CONNECT a: HTTP/1.1\r\nHost: a" + end},
        {400, "GET /a#b HTTP/1.1\r\nHost: a" + end},
        {400, "GET /\xff HTTP/1.1\r\nHost: a" + end},
        {400, "GET /\x7f HTTP/1.1\r\nHost: a" + end},
        {400, "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"s},
        {400, "GET /a\tb HTTP/1.1\r\nHost: a" + end},
        {400, "GET /% HTTP/1.1\r\nHost: a" + end},
        {400, "GET /%4 HTTP/1.1\r\nHost: a" + end},
        {400, "GET /%4g HTTP/1.1\r\nHost: a" + end},
        {404, "GET /%00 HTTP/1.1\r\nHost: a" + end},
        {400, "GET /\xc3\xbc%00 HTTP/1.1\r\nHost: a" + end},
        {400, "GET /%00?\xc3\xbc HTTP/1.1\r\nHost: a" + end},
        {400, "GET http://a/%00\xc3\xbc HTTP/1.1\r\nHost: a" + end},
        {400, "GET ftp://a/ HTTP/1.1\r\nHost: a" + end},
        {400, "GET http:///x HTTP/1.1\r\nHost: a" + end},
        {400, "GET http://:80/x HTTP/1.1\r\nHost: a" + end},
        {400, "GET http://user@a/ HTTP/1.1\r\nHost: a" + end},
        {400, "GET http://a:99999/ HTTP/1.1\r\nHost: a" + end},
        {400, "GET http:/a HTTP/1.1\r\nHost: a" + end},
        {400, "GET http://a/ HTTP/1.1" + end}, // an absolute target does not excuse a missing Host
    });
}

TEST_CASE("what is in no target is told before what is wrong with its escapes") {
    for (const char* const target : {"/\xff", "/\xff%zz", "/%zz\xff", "/%00?\xff"}) {
        CAPTURE(target);
        const auto seen = test::run("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        CHECK(seen.status == 400);
        CHECK(seen.reason == std::string_view("malformed request target"));
    }
}

TEST_CASE("hosts are names or addresses, with or without a port") {
    for (std::string_view text : {"",
                                  "a",
                                  "a.b-c_d~e",
                                  "127.0.0.1:80",
                                  "[::1]",
                                  "[::]",
                                  "[::ffff:1.2.3.4]:1",
                                  "[1:2:3:4:5:6:7:8]",
                                  "[::1]:8080",
                                  "a:",
                                  "a:0",
                                  "a:65535",
                                  "a:000080",
                                  "[::1]:0000065535",
                                  "a:00000000000000000000000000000000",
                                  "%41b",
                                  "a!$&'()*+,;=",
                                  "[v1.x]",
                                  "[V1f.a:b]:80",
                                  "[v0.!$&'()*+,;=-._~]"}) {
        CAPTURE(text);
        CHECK(valid_host(text));
    }
    for (std::string_view text : {" ",
                                  ":80",
                                  ":",
                                  "a b",
                                  "a:65536",
                                  "a:0065536",
                                  "a:0000000099999999999999999999",
                                  "a:-1",
                                  "a:b",
                                  "a:1:2",
                                  "[]",
                                  "[::1",
                                  "[1:2]",
                                  "[....]",
                                  "[:::]",
                                  "[1.2.3.4]",
                                  "[::1::2]",
                                  "[12345::]",
                                  "[1:2:3:4:5:6:7:8:9]",
                                  "[::1.2.3]",
                                  "[::1.2.3.400]",
                                  "[::1%25lo]",
                                  "::1",
                                  "[::1]80",
                                  "[g::1]",
                                  "a%4",
                                  "a%4g",
                                  "[v]",
                                  "[v1]",
                                  "[v1.]",
                                  "[v.x]",
                                  "[vg.x]",
                                  "[v1.[]",
                                  "[v1.x",
                                  "[v1.%41]",
                                  "[v1.x y]",
                                  "[v1.x/]",
                                  "[v1.x@]",
                                  "a@b",
                                  "a/b",
                                  "a#b",
                                  "a\\b",
                                  "a\"b",
                                  "<a>"}) {
        CAPTURE(text);
        CHECK_FALSE(valid_host(text));
    }
}

} // namespace
} // namespace rota::http
