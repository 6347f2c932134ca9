#include "request_parser.hpp"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "parser_driver.hpp"

namespace rota::http {
namespace {

using namespace std::string_literals;
using test::run;

struct accepted {
    std::string bytes;
    std::string_view expected;
};

const std::string post_head = "POST /p HTTP/1.1\r\nHost: a\r\n";
const std::string chunked_post = post_head + "Transfer-Encoding: chunked\r\n\r\n";

const std::vector<accepted> good_requests{
    {"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
     "GET / 1.1 host=example.org path=/ query= keep [Host|example.org]\n\nend\n"},
    {"GET /a%20b?x=1&y=%zz HTTP/1.1\r\nhOsT:a:80\r\nX-Empty:\r\nX-Ows: \t v w \t \r\n\r\n",
     "GET /a%20b?x=1&y=%zz 1.1 host=a:80 path=/a%20b query=x=1&y=%zz keep [hOsT|a:80] [X-Empty|]"
     " [X-Ows|v w]\n\nend\n"},
    {"\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /y HTTP/1.1\r\nHost: b\r\n\r\n",
     "GET /x 1.1 host=a path=/x query= keep [Host|a]\n\nend\n"
     "GET /y 1.1 host=b path=/y query= keep [Host|b]\n\nend\n"},
    {"GET / HTTP/1.0\r\n\r\n", "GET / 1.0 host= path=/ query= close\n\nend\n"},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
     "GET / 1.0 host= path=/ query= keep [Connection|Keep-Alive]\n\nend\n"},
    {"GET / HTTP/1.1\r\nHost:\r\nConnection: x, CLOSE , y\r\n\r\n",
     "GET / 1.1 host= path=/ query= close [Host|] [Connection|x, CLOSE , y]\n\nend\n"},
    {"GET http://Example.org:81/q?r HTTP/1.1\r\nHost: other\r\n\r\n",
     "GET http://Example.org:81/q?r 1.1 host=Example.org:81 path=/q query=r keep [Host|other]\n"
     "\nend\n"},
    {"GET HTTP://[::1]:81?r HTTP/1.1\r\nHost: other\r\n\r\n",
     "GET HTTP://[::1]:81?r 1.1 host=[::1]:81 path= query=r keep [Host|other]\n\nend\n"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
     "OPTIONS * 1.1 host=a path=* query= keep [Host|a]\n\nend\n"},
    {"OPTIONS http://b HTTP/1.1\r\nHost: a\r\n\r\n",
     "OPTIONS http://b 1.1 host=b path= query= keep [Host|a]\n\nend\n"},
    {"GET //../a/./%2e%2E HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n",
     "GET //../a/./%2e%2E 1.1 host=[2001:db8::1] path=//../a/./%2e%2E query= keep"
     " [Host|[2001:db8::1]]\n\nend\n"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \xc3\xa9\tb\r\n\r\n",
     "GET / 1.1 host=a path=/ query= keep [Host|a] [X|\xc3\xa9\tb]\n\nend\n"},
    {post_head + "Content-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: b\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep length=5 [Host|a] [Content-Length|5]\nhello\nend\n"
     "GET / 1.1 host=b path=/ query= keep [Host|b]\n\nend\n"},
    {post_head + "Content-Length: 0\r\nExpect: 100-continue\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep length=0 [Host|a] [Content-Length|0]"
     " [Expect|100-continue]\n\nend\n"},
    {post_head + "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\nhi",
     "POST /p 1.1 host=a path=/p query= keep expect length=2 [Host|a] [Expect|100-Continue]"
     " [Content-Length|2]\nhi\nend\n"},
    {"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
     "POST / 1.0 host= path=/ query= close length=2 [Expect|100-continue] [Content-Length|2]\n"
     "hi\nend\n"},
    {chunked_post + "5\r\nhello\r\n006\r\n world\r\n0\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [Transfer-Encoding|chunked]\n"
     "hello world\nend\n"},
    {post_head + "Transfer-Encoding: ChunKed\r\n\r\n2;a=b;c=\"d e\"\r\nhi\r\n0\r\n"
                 "X-Sum: 1\r\nTe: x\r\nX-Two:2\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [Transfer-Encoding|ChunKed]\n"
     "hi\n{X-Sum|1}\n{X-Two|2}\nend\n"},
    {chunked_post + "a\r\n0123\r\n6789\r\n0\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [Transfer-Encoding|chunked]\n"
     "0123\r\n6789\nend\n"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
     "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
     "GET / 1.1 host=a path=/ query= keep [Host|a] [Connection|upgrade] "
     "[Upgrade|websocket]\n\nend\n"
     "GET /2 1.1 host=a path=/2 query= keep [Host|a]\n\nend\n"},
    {"POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n"
     "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
     "POST / 1.1 host=a path=/ query= keep chunked [Host|a] [Connection|upgrade] [Upgrade|h2c]"
     " [Transfer-Encoding|chunked]\nx\nend\n"},
    // white space around ";" and "=" of chunk extensions
    {chunked_post + "2 ;a\t=\tb ; c = \"d \\\" e\"\r\nhi\r\n1; x\r\n!\r\n0\t;\ty\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [Transfer-Encoding|chunked]\n"
     "hi!\nend\n"},
    // tabs around what says where the content ends
    {post_head + "Content-Length:\t 2\t \t\r\nX: y\t\r\n\r\nhi",
     "POST /p 1.1 host=a path=/p query= keep length=2 [Host|a] [Content-Length|2] "
     "[X|y]\nhi\nend\n"},
    {post_head + "X: y\r\nTransfer-Encoding:\tchunked\t\r\nZ: z\r\n\r\n0\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [X|y] [Transfer-Encoding|chunked]"
     " [Z|z]\n\nend\n"},
    // empty elements beside chunked
    {post_head + "Transfer-Encoding: , chunked\r\nZ: z\r\n\r\n1\r\nx\r\n0\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [Transfer-Encoding|chunked] [Z|z]\n"
     "x\nend\n"},
    {post_head + "Transfer-Encoding: ,,\tchunked ,\t,\r\n\r\n0\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] "
     "[Transfer-Encoding|chunked]\n\nend\n"},
    {post_head + "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: b\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [Transfer-Encoding|chunked]\n\nend\n"
     "GET / 1.1 host=b path=/ query= keep [Host|b]\n\nend\n"},
    // later minor versions
    {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "GET / 1.1 host=a path=/ query= keep [Host|a]\n\nend\n"},
    {"\r\nPOST /p HTTP/1.9\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"
     "GET /%41 HTTP/1.1\r\nHost: b\r\n\r\n",
     "POST /p 1.1 host=a path=/p query= keep chunked [Host|a] [Transfer-Encoding|chunked]\n\nend\n"
     "GET /%41 1.1 host=b path=/%41 query= keep [Host|b]\n\nend\n"},
    {"GET http://[v1.x:y]:80/a%20b HTTP/1.3\r\nHost: [v1.x]\r\n\r\n",
     "GET http://[v1.x:y]:80/a%20b 1.1 host=[v1.x:y]:80 path=/a%20b query= keep [Host|[v1.x]]\n"
     "\nend\n"},
    {"DELETE /z HTTP/1.1\r\nHost: a_b.c-d~e%41\r\n\r\n",
     "DELETE /z 1.1 host=a_b.c-d~e%41 path=/z query= keep [Host|a_b.c-d~e%41]\n\nend\n"},
};

TEST_CASE("requests are taken apart") {
    for (const accepted& request : good_requests) {
        CAPTURE(request.bytes);
        const auto seen = run(request.bytes);
        CHECK(seen.status == 0);
        CHECK(seen.text == request.expected);
    }
}

TEST_CASE("every cut of a good request gives the same result") {
    for (const accepted& request : good_requests) {
        CAPTURE(request.bytes);
        const std::string_view bytes = request.bytes;
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            const auto seen = run({bytes.substr(0, cut), bytes.substr(cut)});
            REQUIRE(seen.status == 0);
            REQUIRE(seen.text == request.expected);
        }
        REQUIRE(run(test::byte_by_byte(bytes)).text == request.expected);
    }
}

TEST_CASE("mutilated requests give the same result in any pieces") {
    constexpr std::string_view alphabet("\r\n\t :;,/?#%*\"\0\x7f\xff"
                                        "0159afGHx",
                                        26);
    std::minstd_rand random(20'251'120);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    parser_limits limits;
    limits.request_line_bytes_max = 60;
    limits.head_bytes_max = 160;
    limits.header_count_max = 5;
    int refused = 0;
    for (int round = 0; round < 4'000; ++round) {
        std::string bytes = good_requests[below(good_requests.size())].bytes;
        if (below(3) == 0)
            bytes += good_requests[below(good_requests.size())].bytes;
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            const std::size_t at = below(bytes.size());
            const char c = alphabet[below(alphabet.size())];
            switch (below(4)) {
            case 0:
                bytes[at] = c;
                break;
            case 1:
                bytes.insert(at, 1, c);
                break;
            case 2:
                bytes.erase(at, 1 + below(2));
                break;
            default:
                bytes.insert(at, bytes.substr(below(bytes.size()), below(12)));
                break;
            }
        }
        CAPTURE(round, bytes);
        const auto whole = run(bytes, limits);
        refused += whole.status != 0 ? 1 : 0;
        std::vector<std::string_view> pieces;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t size = 1 + below(9);
            pieces.push_back(std::string_view(bytes).substr(at, size));
            at += size;
        }
        for (const auto& again : {run(pieces, limits), run(test::byte_by_byte(bytes), limits)}) {
            REQUIRE(again.status == whole.status);
            REQUIRE(again.text == whole.text);
            REQUIRE(std::string_view(again.reason) == whole.reason);
        }
    }
    CHECK(refused > 1'000);
    CHECK(refused < 3'900);
}

TEST_CASE("a head that lies in one piece is not copied until it is kept") {
    const parser_limits limits;
    request_parser parser(limits);
    std::string bytes = "GET /here HTTP/1.1\r\nHost: a\r\n\r\nrest";
    const auto [event, consumed] = parser.feed(bytes);
    REQUIRE(event == parse_event::head);
    CHECK(consumed == bytes.size() - 4);
    CHECK(parser.complete());
    CHECK(parser.head().base == bytes.data());
    parser.keep_head();
    bytes.assign(bytes.size(), '#');
    CHECK(parser.head().text(parser.head().path) == "/here");
    CHECK(parser.head().headers().find("HOST") == "a");
    CHECK_FALSE(parser.head().headers().find("Hos"));
}

/// Feeds a head, and all of what follows it; whether it was taken for the one before.
bool repeats(request_parser& parser, const std::string& bytes, std::string& seen) {
    auto [event, consumed] = parser.feed(bytes);
    REQUIRE(event == parse_event::head);
    const bool result = parser.repeated();
    test::describe_head(parser.head(), seen);
    std::string_view rest = std::string_view(bytes).substr(consumed);
    while (!parser.complete()) {
        const auto [next, taken] = parser.feed(rest);
        REQUIRE(next == parse_event::body);
        seen += parser.body_piece();
        rest.remove_prefix(taken);
    }
    parser.reset();
    return result;
}

TEST_CASE("a request that is repeated says the same again") {
    for (const accepted& request : good_requests) {
        CAPTURE(request.bytes);
        const std::string expected(request.expected);
        const auto seen = run(request.bytes + request.bytes + request.bytes + request.bytes);
        REQUIRE(seen.status == 0);
        REQUIRE(seen.text == expected + expected + expected + expected);
    }
}

TEST_CASE("only the head of the message before counts as repeated") {
    const parser_limits limits;
    request_parser parser(limits);
    const std::string a = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string b = "GET /b HTTP/1.1\r\nHost: a\r\n\r\n";
    const std::string post = post_head + "Content-Length: 2\r\n\r\n";
    const std::string odd = "GET /a HTTP/1.2\r\nHost: a\r\n\r\n";
    const std::string longer =
        "GET /a HTTP/1.1\r\nHost: a\r\nX: " + std::string(600, 'x') + "\r\n\r\n";
    struct row {
        std::string bytes;
        bool repeated;
    };
    const std::vector<row> rows{
        {a, false}, // the first may be the only one
        {a, false},          {a, true},       {a, true},  {b, false},
        {a, false},          {a, true},       {a, true},  {odd, false},
        {a, false},          {longer, false}, {a, false}, {a, true},
        {"\r\n" + a, false}, {a, false},      {a, true},  {post + "hi", false},
        {post + "ho", true}, {a, false},
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(i, rows[i].bytes);
        request_parser fresh(limits);
        std::string expected;
        std::string seen;
        (void)repeats(fresh, rows[i].bytes, expected);
        CHECK(repeats(parser, rows[i].bytes, seen) == rows[i].repeated);
        CHECK(seen == expected);
    }
}

TEST_CASE("a repeated head is read anew where it differs in any byte, or is not all there") {
    const std::string a = "GET /a/b?c HTTP/1.1\r\nHost: a\r\nX: yz\r\n\r\n";
    for (std::size_t at = 0; at < a.size(); ++at) {
        std::string other = a;
        other[at] = static_cast<char>(other[at] ^ 1);
        CAPTURE(other);
        const auto alone = run(other);
        const auto behind = run(a + a + a + other);
        CHECK(behind.status == alone.status);
        CHECK(std::string_view(behind.reason) == alone.reason);
        CHECK(behind.text == run(a + a + a).text + alone.text);
        const std::string all = a + a + a + a;
        const std::string_view bytes = all;
        const auto cut = run({bytes.substr(0, 3 * a.size() + at), bytes.substr(3 * a.size() + at)});
        CHECK(cut.text == run(all).text);
    }
}

TEST_CASE("what one message was allowed is not what its repetition is") {
    const parser_limits limits;
    request_parser parser(limits);
    const std::string bytes = post_head + "Content-Length: 2\r\n\r\n";
    std::string seen;
    for (int i = 0; i < 3; ++i)
        (void)repeats(parser, bytes + "hi", seen);
    REQUIRE(parser.feed(bytes).event == parse_event::head);
    REQUIRE(parser.repeated());
    CHECK_FALSE(parser.limit_body(1));
    REQUIRE(parser.feed("hi").event == parse_event::body);
    parser.reset();
    REQUIRE(parser.feed(bytes).event == parse_event::head);
    REQUIRE(parser.repeated());
    CHECK(parser.limit_body(2));
}

TEST_CASE("a parser knows whether a request has begun") {
    const parser_limits limits;
    request_parser parser(limits);
    CHECK_FALSE(parser.started());
    CHECK(parser.feed("\r\n").event == parse_event::need_more);
    CHECK_FALSE(parser.started());
    CHECK(parser.feed("G").event == parse_event::need_more);
    CHECK(parser.started());
    CHECK(parser.feed("ET / HTTP/1.0\r\n\r\n").event == parse_event::head);
    CHECK(parser.started());
    parser.reset();
    CHECK_FALSE(parser.started());
}

TEST_CASE("a body comes out piece by piece, as it comes in") {
    const parser_limits limits;
    request_parser parser(limits);
    REQUIRE(parser.feed(post_head + "Content-Length: 6\r\n\r\n").event == parse_event::head);
    CHECK_FALSE(parser.complete());
    CHECK(parser.feed("").event == parse_event::need_more);
    const auto first = parser.feed("abcd");
    CHECK(first.event == parse_event::body);
    CHECK(parser.body_piece() == "abcd");
    const auto second = parser.feed("efGET /");
    CHECK(second.consumed == 2);
    CHECK(parser.body_piece() == "ef");
    CHECK(parser.complete());
    CHECK(parser.feed("GET /").event == parse_event::complete);
}

TEST_CASE("every byte of the input is accounted for when a request ends inside it") {
    const parser_limits limits;
    request_parser parser(limits);
    const std::string bytes = chunked_post + "1\r\nx\r\n0\r\n\r\nGET";
    std::string_view rest = bytes;
    for (;;) {
        const auto [event, consumed] = parser.feed(rest);
        rest.remove_prefix(consumed);
        REQUIRE(event != parse_event::error);
        REQUIRE(event != parse_event::need_more);
        if (event == parse_event::complete)
            break;
    }
    CHECK(rest == "GET");
}

} // namespace
} // namespace rota::http
