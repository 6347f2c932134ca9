#include <rota/http/fields.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "field_list.hpp"

namespace rota::http::fields {
namespace {

using test::some_fields;

TEST_CASE("names compare without regard to case, other bytes as they are") {
    CHECK(iequals("Content-Type", "content-TYPE"));
    CHECK_FALSE(iequals("Content-Type", "Content_Type"));
    CHECK_FALSE(iequals("a", "ab"));
    CHECK_FALSE(iequals("\xc4", "\xe4"));
    CHECK_FALSE(iequals("[", "{"));
}

TEST_CASE("tokens are names, and nothing else is") {
    CHECK(is_token("x-y!#$%&'*+.^_`|~9"));
    for (std::string_view text : {"", "a b", "a:", "a\"", "a,b", "\x7f", "\xc3"})
        CHECK_FALSE(is_token(text));
}

TEST_CASE("lists come apart at what stands outside of quotes") {
    std::string_view list = " a=\"1,\\\"2\" ,, b ;c,d=\"e,f";
    CHECK(next_part(list, ',') == "a=\"1,\\\"2\"");
    CHECK(next_part(list, ',').empty());
    CHECK(next_part(list, ',') == "b ;c");
    CHECK(next_part(list, ',') == "d=\"e,f");
    CHECK(list.empty());
    CHECK(next_part(list, ',').empty());
    list = "\"\\";
    CHECK(next_part(list, ',') == "\"\\");
    CHECK(list.empty());
}

TEST_CASE("quoted strings come there and back") {
    for (const std::string& text :
         std::vector<std::string>{"plain", "two words", "a\"b\\c", "", "tab\there"})
        CHECK(unquoted(fields::quoted(text)) == text);
    CHECK(fields::quoted("plain") == "plain");
    CHECK(fields::quoted("a\"b") == "\"a\\\"b\"");
    CHECK(unquoted("\"") == "\"");
    CHECK_THROWS_AS(fields::quoted("a\r\nb"), std::invalid_argument);
}

TEST_CASE("a field that is no list has a value if it has come once") {
    const some_fields all({{"Origin", "a"}, {"via", "b"}, {"VIA", "c"}});
    CHECK(single_value(all.list(), "origin") == "a");
    CHECK_FALSE(single_value(all.list(), "Via"));
    CHECK_FALSE(single_value(all.list(), "Host"));
}

TEST_CASE("a list is one however many fields it is spread over") {
    const some_fields all(
        {{"Connection", "close, X-Mine"}, {"via", "a"}, {"CONNECTION", "Upgrade"}});
    CHECK(list_has(all.list(), "connection", "upgrade"));
    CHECK(list_has(all.list(), "connection", "x-mine"));
    CHECK_FALSE(list_has(all.list(), "connection", "x-min"));
    CHECK_FALSE(list_has(all.list(), "via", "close"));
    CHECK(joined(all.list(), "Connection") == "close, X-Mine, Upgrade");
    CHECK_FALSE(joined(all.list(), "Host"));
}

TEST_CASE("fields that are about one connection are known") {
    CHECK(is_hop_by_hop("Transfer-Encoding"));
    CHECK(is_hop_by_hop("TE"));
    CHECK(is_hop_by_hop("X-Mine", "close, x-mine"));
    CHECK_FALSE(is_hop_by_hop("X-Mine", "close"));
    CHECK_FALSE(is_hop_by_hop("Content-Length"));
}

} // namespace
} // namespace rota::http::fields
