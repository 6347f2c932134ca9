#include <rota/http/multipart.hpp>

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

/// What came out, in one line: "[head|content][head|content]." or "...!400 reason".
struct outcome {
    std::string text;

    bool take(multipart_parser& parser, form_step step) {
        switch (step) {
        case form_step::part:
            text += '[' + std::string(parser.head()) + '|';
            return true;
        case form_step::data:
            text.append(parser.data());
            return true;
        case form_step::part_end:
            text += ']';
            return true;
        case form_step::end:
            text += '.';
            return false;
        case form_step::failed:
            text += '!' + std::to_string(parser.failure().status);
            return false;
        default:
            return false;
        }
    }
};

std::string parse(const std::vector<std::string_view>& pieces, std::string_view boundary = "b",
                  multipart_parser::limits most = {}) {
    multipart_parser parser(boundary, most);
    outcome all;
    form_step step = form_step::more;
    for (std::string_view input : pieces) {
        do {
            step = parser.next(input);
        } while (all.take(parser, step));
        if (step != form_step::more)
            return all.text;
    }
    do {
        step = parser.finish();
    } while (all.take(parser, step));
    return all.text;
}

/// The same, cut at every place and in bytes: all are asked to be one.
std::string parse_cut(std::string_view text, std::string_view boundary = "b",
                      multipart_parser::limits most = {}) {
    const std::string whole = parse({text}, boundary, most);
    std::vector<std::string_view> bytes;
    for (std::size_t at = 0; at < text.size(); ++at) {
        bytes.push_back(text.substr(at, 1));
        CHECK(parse({text.substr(0, at), text.substr(at)}, boundary, most) == whole);
    }
    CHECK(parse(bytes, boundary, most) == whole);
    return whole;
}

TEST_CASE("the head of a part may be without end") {
    multipart_parser::limits most;
    most.head_bytes_max = std::numeric_limits<std::size_t>::max();
    CHECK(parse({"--b\r\nA: 1\r\n\r\ntext\r\n--b--"}, "b", most) ==
          parse({"--b\r\nA: 1\r\n\r\ntext\r\n--b--"}));
}

TEST_CASE("parts have a head and content, whatever the pieces") {
    CHECK(parse_cut("--b\r\nA: 1\r\nB: 2\r\n\r\none\r\n--b\r\n\r\ntwo\r\n\r\n--b--\r\n") ==
          "[A: 1\r\nB: 2\r\n|one][|two\r\n].");
}

TEST_CASE("text before the first delimiter and behind the last one is skipped") {
    CHECK(parse_cut("before\r\n--\r\n\r\r\n--b\r\n\r\nx\r\n--b--\r\nbehind\r\n--b\r\n") == "[|x].");
    CHECK(parse_cut("\r\n--b\r\n\r\nx\r\n--b--") == "[|x].");
    CHECK(parse_cut("no--b\r\n--b\r\n\r\n\r\n--b--") == "[|].");
}

TEST_CASE("blanks may follow a delimiter") {
    CHECK(parse_cut("--b \t\r\n\r\nx\r\n--b-- \t \r\n") == "[|x].");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b--\t") == "[|x].");
}

TEST_CASE("parts may be empty, and there may be none") {
    CHECK(parse_cut("--b\r\n\r\n\r\n--b--\r\n") == "[|].");
    CHECK(parse_cut("--b\r\nA: 1\r\n\r\n--b\r\n\r\n--b--") == "[A: 1\r\n|][|].");
    CHECK(parse_cut("--b--\r\n") == ".");
    CHECK(parse_cut("b\r\n\r\nx\r\n--b--\r\n") == "!400"); // the first delimiter is cut
    CHECK(parse_cut("\r\n--b--\r\n") == ".");              // as Go writes it
    CHECK(parse_cut("\r\n\r\n--b--\r\n") == "!400");
}

TEST_CASE("what looks like a delimiter at first is content") {
    const std::string odd = "\r\r\n\r\n-\r\n--\r\n--a\n--b\r--b\r\n -–--b\r\n\r\n--";
    CHECK(parse_cut("--b\r\n\r\n" + odd + "\r\n--b--") == "[|" + odd + "].");
    CHECK(parse_cut("--b\r\n\r\n-\r\n--b--") == "[|-].");
    CHECK(parse_cut("--b\r\n\r\n--\r\n--b--") == "[|--].");
    CHECK(parse_cut("--long\r\n\r\n--lon\r\n--lon\r\n--long--", "long") == "[|--lon\r\n--lon].");
    const std::string zeros("\0\r\0\n\0", 5);
    CHECK(parse_cut("--b\r\n\r\n" + zeros + "\r\n--b--") == "[|" + zeros + "].");
}

TEST_CASE("content of line ends is handed out at once") {
    multipart_parser parser("b");
    std::string_view head = "--b\r\n\r\n";
    REQUIRE(parser.next(head) == form_step::part);
    std::string ends;
    for (int i = 0; i < 10'000; ++i)
        ends += "\r\r\n\r\n--\r";
    std::string_view input = ends;
    int steps = 0;
    while (parser.next(input) == form_step::data)
        ++steps;
    CHECK(steps <= 3);
}

TEST_CASE("a boundary may have any character that is allowed") {
    const std::string all = "0aZ'()+_,-./:=? x";
    CHECK(parse_cut("--" + all + "\r\n\r\nx\r\n--" + all + "--", all) == "[|x].");
    const std::string hyphens = "----";
    CHECK(parse_cut("------\r\n\r\n-\r\n---\r\n--------", hyphens) == "[|-\r\n---].");
}

TEST_CASE("what is no boundary") {
    CHECK(multipart_parser::valid_boundary(std::string(70, 'x')));
    CHECK(multipart_parser::valid_boundary("a b"));
    for (const std::string& bad :
         {std::string(), std::string(71, 'x'), std::string("a "), std::string("a\r\n"),
          std::string("a\"b"), std::string("a;b"), std::string("\xc3\xa4"), std::string(1, '\0')}) {
        CHECK_FALSE(multipart_parser::valid_boundary(bad));
        CHECK_THROWS_AS(multipart_parser(bad), std::invalid_argument);
    }
}

TEST_CASE("content that ends too early") {
    const std::string_view whole = "--b\r\nA: 1\r\n\r\nx\r\n--b--";
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK(parse_cut(whole.substr(0, size)).ends_with("!400"));
}

TEST_CASE("content that ends in the line of its last boundary has had that") {
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b--\r") == "[|x]!400");
    multipart_parser parser("b");
    std::string_view input = "--b--\t\r";
    CHECK(parser.next(input) == form_step::more);
    CHECK(parser.finish() == form_step::failed);
    CHECK(std::string_view(parser.failure().reason) ==
          "the line of the last boundary does not end with CRLF");
}

TEST_CASE("lines that end otherwise, or go on") {
    CHECK(parse_cut("--b\n\nx\n--b--\n") == "!400");
    CHECK(parse_cut("--b\r\nA: 1\n\r\nx\r\n--b--") == "!400");
    CHECK(parse_cut("--b\r\nA: 1\rB: 2\r\n\r\nx\r\n--b--") == "!400");
    CHECK(parse_cut("--b\r\nA: 1\r\r\n\r\nx\r\n--b--") == "!400");
    CHECK(parse_cut("--b\r\n\nx\r\n--b--") == "!400");
    CHECK(parse_cut("--b\r\n\n\r\nx\r\n--b--") == "!400");
    CHECK(parse_cut("--b\rx") == "!400");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--bc\r\n--b--") == "[|x]!400");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b-\r\n") == "[|x]!400");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b --\r\n") == "[|x]!400");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b--x") == "[|x]!400");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b--\rx") == "[|x]!400");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b--\n") == "[|x]!400");
}

TEST_CASE("as many parts as are allowed") {
    std::string two;
    for (int i = 0; i < 2; ++i)
        two += "--b\r\n\r\nx\r\n";
    CHECK(parse_cut(two + "--b--", "b", {.parts_max = 2}) == "[|x][|x].");
    CHECK(parse_cut(two + "--b--", "b", {.parts_max = 1}) == "[|x]!413");
    CHECK(parse({two + "--b\r\n"}, "b", {.parts_max = 2}) == "[|x][|x]!413");
}

TEST_CASE("heads as long as is allowed") {
    const std::string head = "A: 1\r\nBc: 2\r\n";
    const std::string text = "--b\r\n" + head + "\r\nx\r\n--b--";
    CHECK(parse_cut(text, "b", {.head_bytes_max = head.size()}) == "[" + head + "|x].");
    CHECK(parse_cut(text, "b", {.head_bytes_max = head.size() - 1}) == "!413");
    CHECK(parse_cut("--b\r\n\r\nx\r\n--b--", "b", {.head_bytes_max = 0}) == "[|x].");
    CHECK(parse_cut("--b\r\nA", "b", {.head_bytes_max = 0}) == "!413");
    CHECK(parse({"--b\r\n" + std::string(100'000, 'x')}) == "!413");
}

TEST_CASE("behind a failure or the end there is nothing") {
    multipart_parser parser("b");
    std::string_view bad = "--bx--b--";
    CHECK(parser.next(bad) == form_step::failed);
    CHECK(parser.next(bad) == form_step::failed);
    bad = {};
    CHECK(parser.next(bad) == form_step::failed);
    CHECK(parser.finish() == form_step::failed);
    multipart_parser ended("b");
    std::string_view good = "--b--\r\nand more";
    CHECK(ended.next(good) == form_step::end);
    CHECK(ended.next(good) == form_step::end);
    CHECK(good.empty());
    CHECK(ended.next(good) == form_step::end);
    CHECK(ended.finish() == form_step::end);
    CHECK(ended.finish() == form_step::end);
}

} // namespace
} // namespace rota::http
