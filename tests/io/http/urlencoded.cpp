#include <rota/http/urlencoded.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

/// What came out, in one line: "[name|value][name|value]." or "...!413".
std::string parse(const std::vector<std::string_view>& pieces,
                  urlencoded_parser::limits most = {}) {
    urlencoded_parser parser(most);
    std::string all;
    form_step step = form_step::more;
    const auto take = [&] {
        if (step == form_step::part)
            all += '[' + parser.name() + '|';
        if (step == form_step::data)
            all.append(parser.data());
        if (step == form_step::part_end)
            all += ']';
        if (step == form_step::end)
            all += '.';
        if (step == form_step::failed)
            all += '!' + std::to_string(parser.failure().status);
        return step != form_step::more && step != form_step::end && step != form_step::failed;
    };
    for (std::string_view input : pieces) {
        do {
            step = parser.next(input);
        } while (take());
        if (step != form_step::more)
            return all;
    }
    do {
        step = parser.finish();
    } while (take());
    return all;
}

std::string parse_cut(std::string_view text, urlencoded_parser::limits most = {}) {
    const std::string whole = parse({text}, most);
    std::vector<std::string_view> bytes;
    for (std::size_t at = 0; at < text.size(); ++at) {
        bytes.push_back(text.substr(at, 1));
        CHECK(parse({text.substr(0, at), text.substr(at)}, most) == whole);
    }
    CHECK(parse(bytes, most) == whole);
    return whole;
}

TEST_CASE("names and values, whatever the pieces") {
    CHECK(parse_cut("a=1&b=two&a=3") == "[a|1][b|two][a|3].");
    CHECK(parse_cut("").ends_with("."));
    CHECK(parse_cut("a") == "[a|].");
    CHECK(parse_cut("a&b=&=c&=") == "[a|][b|][|c][|].");
    CHECK(parse_cut("&&a=1&&&b=2&") == "[a|1][b|2].");
    CHECK(parse_cut("a=b=c&d==") == "[a|b=c][d|=].");
}

TEST_CASE("plus signs are spaces, and escapes are bytes") {
    CHECK(parse_cut("a+b=c+d&%2B=%2b") == "[a b|c d][+|+].");
    CHECK(parse_cut("%26%3D=%26%3d") == "[&=|&=].");
    CHECK(parse_cut("n=%E2%82%AC&x=%00") == std::string("[n|\xe2\x82\xac][x|\0].", 13));
}

TEST_CASE("what is no escape stays") {
    CHECK(parse_cut("%=%&%4=%4&%zz=%z") == "[%|%][%4|%4][%zz|%z].");
    CHECK(parse_cut("a=%%41%4%41%&b=%4") == "[a|%A%4A%][b|%4].");
    CHECK(parse_cut("a=%%%25") == "[a|%%%].");
    CHECK(parse_cut("a=1%2=5") == "[a|1%2=5].");
    CHECK(parse_cut("a%2=5&b%=5") == "[a%2|5][b%|5].");
}

TEST_CASE("any byte is content") {
    CHECK(parse_cut("a=\r\n\t;\xff&\xfe=x y") == "[a|\r\n\t;\xff][\xfe|x y].");
}

TEST_CASE("as many fields, and names as long, as are allowed") {
    CHECK(parse_cut("a=1&b=2", {.parts_max = 2}) == "[a|1][b|2].");
    CHECK(parse_cut("a=1&&b=2&&", {.parts_max = 2}) == "[a|1][b|2].");
    CHECK(parse_cut("a=1&b=2&c", {.parts_max = 2}) == "[a|1][b|2]!413");
    CHECK(parse_cut("abc=1", {.name_bytes_max = 3}) == "[abc|1].");
    CHECK(parse_cut("%61bc=1", {.name_bytes_max = 3}) == "[abc|1].");
    CHECK(parse_cut("abcd=1", {.name_bytes_max = 3}) == "!413");
    CHECK(parse_cut("abcd", {.name_bytes_max = 3}) == "!413");
    CHECK(parse_cut("ab%6", {.name_bytes_max = 3}) == "!413");
    CHECK(parse({std::string(1'000'000, 'x')}) == "!413");
}

TEST_CASE("long values come in pieces") {
    const std::string value(100'000, 'x');
    CHECK(parse({"a=" + value + "&b=1"}) == "[a|" + value + "][b|1].");
    std::string escaped;
    for (int i = 0; i < 20'000; ++i)
        escaped += "%78";
    CHECK(parse({"a=" + escaped}) == "[a|" + value.substr(0, 20'000) + "].");
}

TEST_CASE("behind a failure or the end there is no more") {
    urlencoded_parser parser({.parts_max = 0});
    std::string_view text = "a=1";
    CHECK(parser.next(text) == form_step::failed);
    CHECK(parser.next(text) == form_step::failed);
    CHECK(parser.finish() == form_step::failed);
    urlencoded_parser ended;
    CHECK(ended.finish() == form_step::end);
    CHECK(ended.next(text) == form_step::end);
    CHECK(text.empty());
    CHECK(ended.finish() == form_step::end);
}

} // namespace
} // namespace rota::http
