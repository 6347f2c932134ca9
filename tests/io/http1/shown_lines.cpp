#include "shown_lines.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

TEST_CASE("llhttp is shown lists without empty elements, and no tabs, in the same place") {
    const std::vector<std::pair<std::string, std::string>> rows{
        {"Transfer-Encoding: ,chunked\r\n", "Transfer-Encoding:  chunked\r\n"},
        {"transfer-encoding:chunked ,\r\n", "transfer-encoding:chunked  \r\n"},
        {"TRANSFER-ENCODING:\t,,a,\t,b,,\r\n", "TRANSFER-ENCODING:   a,  b  \r\n"},
        {"Transfer-Encoding: chunked, , chunked\r\n", "Transfer-Encoding: chunked,   chunked\r\n"},
        {"Transfer-Encoding: ,\r\n", "-ransfer-Encoding:  \r\n"},
        {"transfer-encoding:\r\n", "-ransfer-encoding:\r\n"},
        {"Transfer-Encoding: \r\n", "-ransfer-Encoding: \r\n"},
        {"Transfer-Encoding:\t \t\r\n", "-ransfer-Encoding:   \r\n"},
        {"Transfer-Encoding: a \r\n", "Transfer-Encoding: a \r\n"},
        {"Content-Length: 5\t \t\r\n", "Content-Length: 5   \r\n"},
        {"Content-Length: 5\t5\r\n", "Content-Length: 5\t5\r\n"},
        {"Content-Length:\t\r\n", "Content-Length: \r\n"},
    };
    for (const auto& [line, expected] : rows) {
        CAPTURE(line);
        CHECK(shown_differently(line));
        std::string shown = line;
        show_field(shown.data(), shown.size());
        CHECK(shown == expected);
    }
}

TEST_CASE("every other line is shown as it is") {
    for (const std::string_view line :
         {"Content-Length: 5\r\n", "Content-Length: 5, 5\r\n", "Transfer-Encoding: chunked\r\n",
          "Transfer-Encodings:\t,\r\n", "X-Transfer-Encoding: ,\r\n", "Transfer-Encoding\t: a,\r\n",
          "Content-Length\r\n", "Content-Length:\r\n", "A: \r\n", "\r\n"}) {
        CAPTURE(line);
        CHECK_FALSE(shown_differently(line));
    }
}

TEST_CASE("llhttp is shown chunk lines without white space around separators") {
    const std::vector<std::pair<std::string_view, std::string_view>> rows{
        {"5", "5\r\n"},
        {"5 ;a", "5;a\r\n"},
        {"5; a", "5;a\r\n"},
        {"aF\t;\ta \t=\t b", "aF;a=b\r\n"},
        {"0 ; a ; b = \"c d\" ;e", "0;a;b=\"c d\";e\r\n"},
        {"1;a = \" \\\" ; \"", "1;a=\" \\\" ; \"\r\n"},
    };
    std::string shown = "something before";
    for (const auto& [content, expected] : rows) {
        CAPTURE(content);
        CHECK(show_chunk_line(content, shown));
        CHECK(shown == expected);
    }
    for (const std::string_view content :
         {" 5", "5 ", "5 5", "5;", "5 ; ", "5;a ", "5;a b", "5;a=", "5;a= ", "5;a=b c", "5;=b",
          "5;;a", "5;a=\"b", "5;a=\"b\" c", "5;a=\"\\\"", "5;a==b", "5 a"}) {
        CAPTURE(content);
        CHECK_FALSE(show_chunk_line(content, shown));
    }
}

} // namespace
} // namespace rota::http
