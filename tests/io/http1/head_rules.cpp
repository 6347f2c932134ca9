#include "head_rules.hpp"

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "refusals.hpp"

namespace rota::http {
namespace {

using namespace std::string_literals;
using test::check_all;
using test::chunked;
using test::end;
using test::get;
using test::host;
using test::post;

TEST_CASE("hosts") {
    check_all({
        {400, get + "\r\n"},
        {400, get + "A: b" + end},
        {400, host + "Host: a" + end},
        {400, "GET / HTTP/1.0\r\nHost: a\r\nhost: b" + end},
        {400, get + "Host: a b" + end},
        {400, get + "Host: a/b" + end},
        {400, get + "Host: u@a" + end},
        {400, get + "Host: a?b" + end},
        {400, get + "Host: a:b" + end},
        {400, get + "Host: :80" + end},
        {400, get + "Host: a:80:90" + end},
        {400, get + "Host: a:65536" + end},
        {400, get + "Host: [::1" + end},
        {400, get + "Host: [::1]x" + end},
        {400, get + "Host: [x]" + end},
        {400, get + "Host: a%4" + end},
        {400, get + "Host: a\xe9" + end},
        {400, "GET / HTTP/1.0\r\nHost: a b" + end},
    });
}

TEST_CASE("framing that two servers could read in two ways") {
    const std::string hello = "\r\n\r\nhello";
    check_all({
        {400, post + "Content-Length: 5\r\nTransfer-Encoding: chunked" + end},
        {400, post + "Transfer-Encoding: chunked\r\nContent-Length: 5" + end},
        {400, post + "Content-Length: 5\r\nContent-Length: 6" + hello},
        {400, post + "Content-Length: 5\r\nContent-Length: 5" + hello},
        {400, post + "Content-Length: 5, 5" + hello},
        {400, post + "Content-Length: 5,6" + hello},
        {400, post + "Content-Length: +5" + hello},
        {400, post + "Content-Length: -5" + hello},
        {400, post + "Content-Length: 0x5" + hello},
        {400, post + "Content-Length: 5 5" + hello},
        {400, post + "Content-Length: 5a" + hello},
        {400, post + "Content-Length: \"5\"" + hello},
        {400, post + "Content-Length:" + hello},
        {400, post + "Content-Length : 5" + hello},
        {413, post + "Content-Length: 99999999999999999999999999" + end},
        {413, post + "Content-Length: 18446744073709551615" + end},
        {400, post + "Transfer-Encoding: chunked, gzip" + end},
        {400, post + "Transfer-Encoding: chunked, chunked" + end},
        {400, post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" + end},
        {400, post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity" + end},
        {400, post + "Transfer-Encoding: chunked, , chunked" + end},
        {400, post + "Transfer-Encoding: , chunked\r\nTransfer-Encoding: ,chunked" + end},
        {400, post + "Transfer-Encoding: ," + end},
        {400, post + "Transfer-Encoding: , \t ," + end},
        {400, post + "Transfer-Encoding: ,\r\nTransfer-Encoding:" + end},
        {400, post + "Transfer-Encoding:\r\nContent-Length: 5" + hello},
        {400, post + "Content-Length: 5\r\nTransfer-Encoding:" + hello},
        {400, post + "Content-Length: 5\r\nTransfer-Encoding: \t" + hello},
        {400, "POST / HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: ," + hello},
        {400, post + "Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\nContent-Length: 5" + end},
        {400,
         post + "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\nTransfer-Encoding: a" + end},
        {400, post + "Transfer-Encoding: ,chunked, identity" + end},
        {400, post + "Transfer-Encoding: ,chunked;q=1" + end},
        {400, post + "Transfer-Encoding: chun\tked" + end},
        {400, post + "Transfer-Encoding: chunked\tchunked" + end},
        {400, post + "Transfer-Encoding: chun,ked" + end},
        {400, post + "Transfer-Encoding: ;,chunked" + end},
        {400, post + "Transfer-Encoding\t: chunked" + end},
        {400, post + "Transfer-Encoding: ,chunked\r\nContent-Length: 5" + end},
        {400, post + "Content-Length: 5\t\r\nTransfer-Encoding: chunked\t" + end},
        {400, post + "Content-Length: 5\t\r\nContent-Length: 5\t" + hello},
        {400, post + "Content-Length: 5\t5" + hello},
        {400, post + "Content-Length: 5\t," + hello},
        {400, post + "Content-Length: ,5" + hello},
        {400, post + "Content-Length: \t" + hello},
        {400, post + "Content-Length\t: 5" + hello},
        {413, post + "Content-Length: 99999999999999999999999999\t" + end},
        {501, post + "Transfer-Encoding: gzip,, chunked" + end},
        {400, "POST / HTTP/1.0\r\nTransfer-Encoding: ,chunked" + end},
        {400,
         "POST / HTTP/1.2\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked" + end},
        {400, post + "Transfer-Encoding: chunked;q=1" + end},
        {400, post + "Transfer-Encoding:" + end},
        {400, post + "Transfer-Encoding: \"chunked\"" + end},
        {400, post +
                  "Transfer-Encoding: \x0b"
                  "chunked" +
                  end},
        {400, post + "Transfer-Encoding : chunked" + end},
        {400, post + "Transfer-Encoding:\r\n chunked" + end},
        {400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked" + end},
        {501, post + "Transfer-Encoding: gzip, chunked" + end},
        {400, post + "Transfer-Encoding: gzip" + end},
        {400, post + "Transfer-Encoding: identity" + end},
        {400, post + "Transfer-Encoding: xchunked" + end},
        {501, post + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked" + end},
        {501, post + "Transfer-Encoding: a;b=\",\", chunked" + end},
        {501, post + "Transfer-Encoding: a;b=\"\\\",\" , ,chunked" + end},
        {400, post + "Transfer-Encoding: a;b=\", chunked" + end},
        {400, post + "Transfer-Encoding: a;b=\"\\\", chunked" + end},
        {400, post + "Transfer-Encoding: a;b=\"\\" + end},
        {400, post + "Transfer-Encoding: a;b=\", chunked\"" + end},
        {400, post + "Transfer-Encoding: a;b=\"\r\nTransfer-Encoding: \", chunked" + end},
    });
}

TEST_CASE("Transfer-Encoding in several lines is one list, whose elements may be empty") {
    const std::string one = "Transfer-Encoding: chunked\r\n";
    for (const char* const none :
         {"Transfer-Encoding:\r\n", "transfer-encoding: \r\n", "Transfer-Encoding:\t\r\n",
          "Transfer-Encoding: , ,\r\n", "Transfer-Encoding:\r\nTransfer-Encoding:,\r\n"}) {
        for (const std::string& fields : {one + none, none + one, none + one + none}) {
            const std::string bytes =
                post + fields + "A: b\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + host + "\r\n";
            CAPTURE(bytes);
            const auto seen = test::run(bytes);
            CHECK(seen.status == 0);
            CHECK(seen.text.find(" chunked") != std::string::npos);
            CHECK(seen.text.find("[A|b]\nhi\nend\nGET / ") != std::string::npos);
            CHECK(test::run(test::byte_by_byte(bytes)).text == seen.text);
            CHECK(test::run({bytes}, {}, true).text == seen.text);
        }
    }
}

TEST_CASE("Expect is a list, whose elements may be empty") {
    const auto expects = [](const std::string& field) {
        CAPTURE(field);
        const auto seen = test::run(post + field + "\r\nContent-Length: 2" + end + "hi");
        CHECK(seen.status == 0);
        return seen.text.find(" expect ") != std::string::npos;
    };
    for (const char* value :
         {"100-continue", "100-continue,", ", 100-Continue", "100-continue, 100-continue",
          ",, \t100-continue\t,,", "100-continue\r\nExpect:"}) {
        CHECK(expects("Expect: "s + value));
    }
    for (const char* value : {"", ",", ", \t,", ",\r\nExpect: ,"})
        CHECK_FALSE(expects("Expect: "s + value));
}

TEST_CASE("an expectation that is not known makes a request unfit, and nothing else") {
    const std::string hello = "\r\n\r\nhello";
    for (const char* value : {"200-ok", "100-continue, x", "x, 100-continue", "100-continue;a=b",
                              "100-continue\r\nExpect: x", "x\r\nExpect: 100-continue"}) {
        const std::string asked = post + "Expect: " + value + "\r\nContent-Length: 5";
        CAPTURE(asked);
        check_all({{0, asked + hello}, {400, asked + "\r\nContent-Length: 5" + hello}});
        CHECK(test::run(asked + hello).text.starts_with("POST unfit=417 / "));
    }
    CHECK(test::run("BREW / HTTP/1.1\r\nHost: a\r\nExpect: x" + end)
              .text.starts_with("_OTHER unfit=501 / "));
}

TEST_CASE("trailers that decide what has been decided are refused, others are dropped") {
    check_all({
        {400, chunked + "0\r\nContent-Length: 5\r\n\r\n"},
        {400, chunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {400, chunked + "0\r\nhost: b\r\n\r\n"},
    });
    for (std::string_view name : {"Authorization", "content-type", "TE", "Trailer", "Expect"}) {
        CAPTURE(name);
        const auto seen =
            test::run(chunked + "0\r\nX-A: 1\r\n" + std::string(name) + ": 2\r\nX-B: 3\r\n\r\n");
        CHECK(seen.status == 0);
        CHECK(seen.text.ends_with("\n\n{X-A|1}\n{X-B|3}\nend\n"));
    }
}

} // namespace
} // namespace rota::http
