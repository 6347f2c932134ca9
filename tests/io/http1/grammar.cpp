#include "grammar.hpp"

#include <string>
#include <string_view>
#include <vector>

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

TEST_CASE("malformed header sections") {
    check_all({
        {400, "GET / HTTP/1.1\nHost: a" + end}, {400, get + "Host: a\nB: c" + end},
        {400, get + "Host: a\r\nB: c\n\r\n"},   {400, get + "Host: a\r\n\n"},
        {400, get + "Host: a\rB: c" + end},     {400, get + "Host: a\r\r\n\r\n"},
        {400, get + "Host: a\r\n\rX: y" + end}, {400, get + "Host : a" + end},
        {400, get + "Host\t: a" + end},         {400, get + " Host: a" + end},
        {400, get + "\tHost: a" + end},         {400, get + "Host: a\r\n b" + end},
        {400, host + "B: c\r\n\td" + end},      {400, host + ": a" + end},
        {400, host + "A B: a" + end},           {400, host + "A(: a" + end},
        {400, host + "A\xe9: a" + end},         {400, host + "Nothing" + end},
        {400, host + "A: b\0c\r\n\r\n"s},       {400, host + "A: b\x01" + end},
        {400, host + "A: b\x7f" + end},         {400, host + "A\x01: b" + end},
    });
}

TEST_CASE("malformed chunked framing") {
    check_all({
        {400, chunked + "5\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5\r\nhello\n0\r\n\r\n"},
        {400, chunked + "5\r\nhello0\r\n\r\n"},
        {400, chunked + "5\r\nhello!\r\n0\r\n\r\n"},
        {400, chunked + "5\rhello\r\n0\r\n\r\n"},
        {400, chunked + "5\r\nhello\r0\r\n\r\n"},
        {400, chunked + " 5\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5 \r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "0x5\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "+5\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "-5\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "g\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + ";a\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5\t\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5 5\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "\t5;a\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5 ;\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5; \r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a \r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a b\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a =\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a= \r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a= b c\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a = b \r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5; = b\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a = \"b\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5 ;a\nb\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5 ;a\rb\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5 ; a\n"},
        {400, chunked + "5 ; a = \"\n\"\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "1000 0000 ;a\r\n"},
        {413, chunked + "10000000000000000 ; a\r\n"},
        {400, chunked + "10000000000000000 ; a=\r\n"},
        {400, chunked + "5;;a\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a;\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a=\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;=b\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a=;b\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a==b\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a=\"b\"c\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5\r\nhello\r\n0;a=\r\n\r\n"},
        {400, chunked + "5;a\nb\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a\rb\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"},
        {400, chunked + "5;a=\"\0\"\r\nhello\r\n0\r\n\r\n"s},
        {413, chunked + "10000000000000000\r\n"},
        {413, chunked + "00FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF\r\n"},
        {400, chunked + "10000000000000000x\r\n"},
        {400, chunked + "10000000000000000\n"},
        {0, chunked + "00000000000000000001\r\nx\r\n00000000000000000000\r\n\r\n"},
        {413, chunked + "FFFFFFFFFFFFFFFF\r\n"},
        {413, chunked + "1\r\nx\r\nFFFFFFFFFFFFFFFF\r\n"},
        {400, chunked + "0\r\n\n"},
        {400, chunked + "0\r\n\rX: y\r\n\r\n"},
        {400, chunked + "0\r\nX: y\n\r\n"},
        {400, chunked + "0\r\n X: y\r\n\r\n"},
        {400, chunked + "0\r\nX : y\r\n\r\n"},
        {400, chunked + "0\r\nX: y\r\n z\r\n\r\n"},
        {400, chunked + "0\r\nX: \x01\r\n\r\n"},
        {400, chunked + "0\r\nnothing\r\n\r\n"},
        {400, chunked + "0\r\nContent-Length: 5\r\n\r\n"},
        {400, chunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n"},
        {400, chunked + "0\r\nHost: b\r\n\r\n"},
    });
}

TEST_CASE("the grammar finds fields and framing") {
    std::vector<field_span> fields;
    const std::string bytes =
        "PUT / HTTP/1.1\r\nA: 1\r\nEmpty:\r\nB:\t2 \t\r\nContent-Length: 7\r\n\r\n";
    grammar g;
    g.collect(fields);
    g.set_base(bytes.data());
    CHECK(g.execute(bytes));
    CHECK(g.head_complete());
    CHECK_FALSE(g.message_complete());
    CHECK(g.content_length() == 7);
    CHECK_FALSE(g.chunked());
    const header_list list(bytes.data(), fields);
    CHECK(list.size() == 4);
    CHECK(list.find("A") == "1");
    CHECK(list.find("empty") == "");
    CHECK(list.find("B") == "2");

    g.reset();
    fields.clear();
    CHECK_FALSE(g.head_complete());
    const std::string bad = "GET / HTTP/1.1\r\nA : 1\r\n";
    g.set_base(bad.data());
    CHECK_FALSE(g.execute(bad));
    CHECK_FALSE(g.execute("\r\n"));
}

} // namespace
} // namespace rota::http
