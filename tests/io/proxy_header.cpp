#include <rota/io/proxy_header.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::io {
namespace {

using progress = proxy_header_reading::progress;

const std::string signature("\r\n\r\n\0\r\nQUIT\n", 12);

/// "-" where nothing is said.
std::string written(const std::optional<endpoint>& where) {
    return where ? where->to_string() : "-";
}

std::string both(const proxy_header& header) {
    return written(header.source) + ' ' + written(header.destination);
}

/// A header of version 2, of which the length is that of `block`.
std::string binary(unsigned char command, unsigned char family, std::string_view block) {
    std::string made = signature;
    made += static_cast<char>(command);
    made += static_cast<char>(family);
    made += static_cast<char>(block.size() >> 8);
    made += static_cast<char>(block.size() & 0xff);
    return made.append(block);
}

std::string path(std::string_view text) {
    std::string filled(text);
    filled.resize(108);
    return filled;
}

const std::string v4_block("\xc0\x00\x02\x01\xc6\x33\x64\x02\x12\x34\x01\xbb", 12);

std::string v6_block() {
    std::string block(36, '\0');
    block[0] = '\x20';
    block[1] = '\x01';
    block[15] = '\x01';
    block[31] = '\x02';
    block[33] = '\x50';
    block[35] = '\x51';
    return block;
}

} // namespace

TEST_CASE("headers that are complete, whatever follows them") {
    struct row {
        std::string bytes;
        std::string ends;
        int version;
    };
    const std::string extension("\x04\x00\x03xyz", 6);
    for (const row& r : std::vector<row>{
             {"PROXY TCP4 192.0.2.1 198.51.100.2 4660 443\r\n", "192.0.2.1:4660 198.51.100.2:443",
              1},
             {"PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n", "0.0.0.0:0 255.255.255.255:65535",
              1},
             {"PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "[2001:db8::1]:1 [::1]:2", 1},
             {"PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "192.0.2.1:1 [::1]:2", 1},
             {"PROXY UNKNOWN\r\n", "- -", 1},
             {"PROXY UNKNOWN ffff::1 anything at all 1 2\r\n", "- -", 1},
             {binary(0x21, 0x11, v4_block), "192.0.2.1:4660 198.51.100.2:443", 2},
             {binary(0x21, 0x11, v4_block + extension), "192.0.2.1:4660 198.51.100.2:443", 2},
             {binary(0x21, 0x21, v6_block()), "[2001::1]:80 [::2]:81", 2},
             {binary(0x21, 0x31, path("/run/a") + path(std::string("\0b", 2))),
              "unix:/run/a unix:@b", 2},
             {binary(0x21, 0x31, path("") + path(std::string(108, 'x'))),
              "unix: unix:" + std::string(108, 'x'), 2},
             {binary(0x20, 0x00, ""), "- -", 2},
             {binary(0x20, 0x11, v4_block), "- -", 2}, // LOCAL: the addresses are no matter
             {binary(0x20, 0xff, "what it likes"), "- -", 2},
             {binary(0x21, 0x00, ""), "- -", 2},
             {binary(0x21, 0x00, extension), "- -", 2},
             {binary(0x21, 0x12, v4_block), "- -", 2}, // datagrams: not this connection
             {binary(0x21, 0x11, v4_block + std::string(proxy_header_bytes_max - 28, 't')),
              "192.0.2.1:4660 198.51.100.2:443", 2}}) {
        CAPTURE(r.bytes);
        const auto got = parse_proxy_header(r.bytes + "GET / HTTP/1.1\r\n");
        REQUIRE(got.now == progress::complete);
        CHECK(got.size == r.bytes.size());
        CHECK(both(got.header) == r.ends);
        CHECK(got.header.version == r.version);
        for (std::size_t i = 0; i < r.bytes.size(); ++i)
            REQUIRE(parse_proxy_header(std::string_view(r.bytes).substr(0, i)).now ==
                    progress::need_more);
    }
}

TEST_CASE("what is no header is found out") {
    const std::string cut = v4_block.substr(0, 11);
    for (const std::string& bytes : std::vector<std::string>{
             "GET / HTTP/1.1\r\n",
             "PROXYX",
             "proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
             "P ",
             "\r\nGET",
             std::string("\x16\x03\x01", 3),
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\rX\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n",
             "PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 -1 2\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 x\r\n",
             "PROXY TCP4 1.2.3.256 1.2.3.4 1 2\r\n",
             "PROXY TCP4 1.2.3.4 name 1 2\r\n",
             "PROXY TCP4 ::1 ::1 1 2\r\n",
             "PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n",
             "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n",
             "PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n",
             "PROXY  \r\n",
             "PROXY \r\n",
             "PROXY UNKNOWN " + std::string(107, 'x'),
             binary(0x11, 0x11, v4_block),
             binary(0x22, 0x11, v4_block),
             binary(0x21, 0x41, v4_block),
             binary(0x21, 0x13, v4_block),
             binary(0x21, 0x11, cut),
             binary(0x21, 0x21, v4_block),
             binary(0x21, 0x31, path("/a")),
             binary(0x21, 0x11, std::string(proxy_header_bytes_max - 15, 't')).substr(0, 16)}) {
        CAPTURE(bytes);
        const auto got = parse_proxy_header(bytes);
        CHECK(got.now == progress::malformed);
        CHECK(std::string_view(got.wrong) != "");
    }
    CHECK(parse_proxy_header("").now == progress::need_more);
}

TEST_CASE("what is no header is found out by the last byte of these, and not before") {
    for (const std::string& bytes :
         std::vector<std::string>{"G",
                                  "PROXX",
                                  "PROXY X",
                                  "PROXY  ",
                                  "PROXY TCP5",
                                  "PROXY TCP4\r",
                                  "PROXY UNKNOWNX",
                                  "PROXY UNKNOW ",
                                  "PROXY UNKNOWN\n",
                                  "PROXY UNKNOWN\r ",
                                  "PROXY TCP4  ",
                                  "PROXY TCP4 x",
                                  "PROXY TCP4 :",
                                  "PROXY TCP4 256",
                                  "PROXY TCP4 01",
                                  "PROXY TCP4 1..",
                                  "PROXY TCP4 1.2.3 ",
                                  "PROXY TCP4 1.2.3.4.",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8 x",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8  ",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8 01",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8 65536",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8 1\r",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8 1 \r",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8 1 2 ",
                                  "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n",
                                  "PROXY TCP6 1.",
                                  "PROXY TCP6 12345",
                                  "PROXY TCP6 1::2::",
                                  "PROXY TCP6 1:2:3:4:5:6:7:8:",
                                  "PROXY TCP6 ::ffff:1.2.3.4.",
                                  "PROXY TCP6 ::ffff:1.2.3.256",
                                  "PROXY TCP6 1:2 ",
                                  "PROXY UNKNOWN " + std::string(107 - 2 - 14 + 1, 'x'),
                                  signature + '\x31',
                                  signature + '\x22',
                                  signature + "\x21\x41",
                                  signature + "\x21\x13",
                                  signature + "\x21\x11\x40",
                                  signature + "\x21\x11\x3f\xf1",
                                  binary(0x21, 0x11, v4_block.substr(0, 11)).substr(0, 16),
                                  binary(0x21, 0x21, v4_block).substr(0, 16),
                                  binary(0x21, 0x31, "")}) {
        CAPTURE(bytes);
        CHECK(parse_proxy_header(bytes).now == progress::malformed);
        CHECK(parse_proxy_header(std::string_view(bytes).substr(0, bytes.size() - 1)).now ==
              progress::need_more);
    }
    const std::string longest = "PROXY UNKNOWN " + std::string(107 - 2 - 14, 'x') + "\r\n";
    CHECK(parse_proxy_header(longest).size == 107);
    for (const std::string address :
         {"2001:db8:1:22:333:4444:5:6", "::", "::1", "1::", "1:2:3:4:5:6:7::", "1::3:4:5:6:7:8",
          "::2:3:4:5:6:7:8", "1:2:3:4:5:6:192.168.100.255", "::ffff:10.0.0.1", "fe80::a:0:1.2.3.4",
          "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"}) {
        const std::string line = "PROXY TCP6 " + address + " ::1 65535 0\r\n";
        for (std::size_t i = 0; i < line.size(); ++i) {
            CAPTURE(line, i);
            CHECK(parse_proxy_header(std::string_view(line).substr(0, i)).now ==
                  progress::need_more);
        }
        CHECK(parse_proxy_header(line).now == progress::complete);
    }
}

} // namespace rota::io
