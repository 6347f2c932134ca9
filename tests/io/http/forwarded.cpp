#include <rota/http/forwarded.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http {
namespace {

/// "for|by|host|proto" of each step; "-" for what is malformed.
std::string read(std::string_view list) {
    const auto steps = parse_forwarded(list);
    if (!steps)
        return "-";
    std::string text;
    for (const forwarded_element& each : *steps) {
        text += text.empty() ? "" : " ";
        text += each.from + '|' + each.by + '|' + each.host + '|' + each.proto;
    }
    return text;
}

std::string node(std::string_view text, bool bare = false) {
    const auto got = parse_forwarded_node(text, bare);
    return got ? got->to_string() : "-";
}

} // namespace

TEST_CASE("Forwarded fields") {
    CHECK(read("") == "");
    CHECK(read(" , ,") == "");
    CHECK(read("for=192.0.2.60;proto=http;by=203.0.113.43") == "192.0.2.60|203.0.113.43||http");
    CHECK(read("For=\"[2001:db8:cafe::17]:4711\"") == "[2001:db8:cafe::17]:4711|||");
    CHECK(read("for=192.0.2.43, for=198.51.100.17;by=203.0.113.60;host=\"a.example:80\"") ==
          "192.0.2.43||| 198.51.100.17|203.0.113.60|a.example:80|");
    CHECK(read("for=_hidden;secret=\"a;b,c\\\"d\" ; PROTO=https;") == "_hidden|||https");
    CHECK(read("for=\"_a\\b\"") == "_ab|||");
    CHECK(read("x=y") == "|||");
    CHECK(read("x=\"\";y=1, x=1") == "||| |||");
    for (const std::string_view wrong : {"for",
                                         "for=",
                                         "=a",
                                         "for =a",
                                         "for= a",
                                         "for=a b",
                                         "for=1.2.3.4:80",
                                         "for=[::1]",
                                         "for=\"a",
                                         "for=a\"b\"",
                                         "for=\"a\"b",
                                         "for=\"a\\\"",
                                         "for=\"",
                                         "for=a;for=b",
                                         "for=a;FOR=a",
                                         "for=a;proto=x;proto=y",
                                         "for=a;x=1;y=2;X=3",
                                         "for=a,, proto",
                                         "f(r=a",
                                         "for=a=b",
                                         "for=\"\"",
                                         "by=\"\"",
                                         "host=\"\"",
                                         "for=a;proto=\"\"",
                                         "for=\"\", for=a"}) {
        CAPTURE(wrong);
        CHECK(read(wrong) == "-");
    }
}

TEST_CASE("whom a proxy names") {
    CHECK(node("192.0.2.1") == "192.0.2.1");
    CHECK(node("192.0.2.1:80") == "192.0.2.1:80");
    CHECK(node("192.0.2.1:65535") == "192.0.2.1:65535");
    CHECK(node("192.0.2.1:_p") == "192.0.2.1:_p");
    CHECK(node("[2001:DB8::1]") == "[2001:db8::1]");
    CHECK(node("[2001:db8::1]:1") == "[2001:db8::1]:1");
    CHECK(node("unknown") == "unknown");
    CHECK(node("UNKNOWN:80") == "unknown:80"); // a peer, which is one
    CHECK(node("_gazonk") == "_gazonk");
    CHECK(node("_a.b-c_d:_e") == "_a.b-c_d:_e");
    CHECK(node("2001:db8::1", true) == "[2001:db8::1]");
    CHECK(node("[2001:db8::1]:1", true) == "[2001:db8::1]:1");
    CHECK(node("192.0.2.1:80", true) == "192.0.2.1:80");
    for (const std::string_view wrong : {"",
                                         ":",
                                         ":80",
                                         "_",
                                         "name",
                                         "192.0.2.1:",
                                         "192.0.2.1:x",
                                         "192.0.2.1:123456",
                                         "192.0.2.1:65536",
                                         "[::1]:99999",
                                         "192.0.2.1:1:2",
                                         "[192.0.2.1]",
                                         "[::1",
                                         "[::1]x",
                                         "[::1]:",
                                         "[]",
                                         "[::1%lo]",
                                         "_a b",
                                         "_a\n",
                                         "192.0.2.256",
                                         "unknown ",
                                         "unknown\t",
                                         "127.0.0.1\r\nX: y"}) {
        CAPTURE(wrong);
        CHECK(node(wrong) == "-");
        CHECK(node(wrong, true) == "-");
    }
    CHECK(node("2001:db8::1") == "-");
}

TEST_CASE("the address of a peer, as a key") {
    CHECK(peer_address("192.0.2.1:4711") == "192.0.2.1");
    CHECK(peer_address("192.0.2.1") == "192.0.2.1");
    CHECK(peer_address("[2001:db8::1]:4711") == "2001:db8::1");
    CHECK(peer_address("[2001:db8::1]") == "2001:db8::1");
    CHECK(peer_address("[fe80::1%2]:4711") == "fe80::1");
    CHECK(peer_address("unix:/run/x") == "unix");
    CHECK(peer_address("unix:") == "unix");
    CHECK(peer_address("unknown") == "unknown");
    CHECK(peer_address("_a:_b") == "_a");
    CHECK(peer_address("").empty());
    CHECK(peer_address("[").empty());
}

} // namespace rota::http
