#include <rota/http/limits.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "refusals.hpp"

namespace rota::http {
namespace {

using namespace std::string_literals;
using test::check_all;
using test::host;
using test::post;

TEST_CASE("limits") {
    parser_limits limits;
    limits.request_line_bytes_max = 20;
    limits.head_bytes_max = 64;
    limits.header_count_max = 3;
    limits.body_bytes_max = 8;
    limits.trailer_bytes_max = 24;
    limits.chunk_line_bytes_max = 10;
    limits.chunk_extension_bytes_max = 12;
    limits.leading_empty_lines_max = 1;
    const std::string te = "POST / HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_all(
        {
            {414, "GET /3456789 HTTP/1.1\r\nHost: a\r\n\r\n"},
            {414, "GET /3456789012345678901234567890"},
            {400, "GET /34567890\x01"
                  "12345678901234567890"},
            {431, host + "A: 345678901234567890123456789012345\r\n\r\n"},
            {431, host + "A: 23456789012345678901234567890123456789012345"},
            {431, host + "B: c\r\nD: e\r\nF: g\r\n\r\n"},
            {400, "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
            {413, post + "Content-Length: 9\r\n\r\n123456789"},
            {413, te + "9\r\n123456789\r\n0\r\n\r\n"},
            {413, te + "4\r\n1234\r\n5\r\n"},
            {400, te + "00000000001\r\n"},
            {400, te + "00000000001"},
            {400, te + "1;abcdefg\r\nx\r\n1;abcdefg\r\n"},
            {431, te + "0\r\nAbc: defghijklmnopqrstuv\r\n\r\n"},
            {431, te + "0\r\nA: b\r\nC: d\r\nE: f\r\nG: h\r\n\r\n"},
        },
        limits);
    // One less of each is served.
    for (const std::string& bytes :
         {"GET /345678 HTTP/1.1\r\nHost: a\r\n\r\n"s, host + "B: c\r\nD: e\r\n\r\n",
          host + "A: 34567890123456789012345678901234\r\n\r\n",
          "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"s, post + "Content-Length: 8\r\n\r\n12345678",
          te + "8\r\n12345678\r\n0\r\n\r\n", te + "4\r\n1234\r\n4\r\n1234\r\n0\r\n\r\n",
          te + "0000000001\r\nx\r\n0\r\n\r\n", te + "1;abcde\r\nx\r\n1;abcde\r\nx\r\n0\r\n\r\n",
          te + "0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n"}) {
        CAPTURE(bytes);
        const auto seen = test::run(bytes, limits);
        CHECK(seen.status == 0);
        CHECK(seen.text.ends_with("\nend\n"));
    }
}

} // namespace
} // namespace rota::http
