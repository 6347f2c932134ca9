#include "authority.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::http::detail {
namespace {

/// "host" or "host port", or "none".
std::string parsed(std::string_view text) {
    const auto found = parse_authority(text);
    if (!found)
        return "none";
    std::string result(found->host);
    if (found->port)
        result += ' ' + std::to_string(*found->port);
    return result;
}

} // namespace

TEST_CASE("a host with or without a port") {
    CHECK(parsed("example.org") == "example.org");
    CHECK(parsed("example.org:8080") == "example.org 8080");
    CHECK(parsed("example.org:") == "example.org");
    CHECK(parsed("127.0.0.1:0") == "127.0.0.1 0");
    CHECK(parsed("[::1]") == "[::1]");
    CHECK(parsed("[2001:db8::1]:443") == "[2001:db8::1] 443");
    for (const char* none : {"",
                             ":80",
                             "[",
                             "[]",
                             "[::1",
                             "[::1]80",
                             "[::g]",
                             "[v1.x]:80",
                             "::1",
                             "a b",
                             "a@b",
                             "a/b",
                             "a%20b",
                             "a:x",
                             "a:-1",
                             "a:+1",
                             "a:65536",
                             "a:80:80",
                             "a: 80",
                             "a\tb",
                             "[fe80::1%25eth0]",
                             "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]"}) {
        CAPTURE(none);
        CHECK(parsed(none) == "none");
    }
}

TEST_CASE("hosts are compared without regard to case and a last dot") {
    CHECK(same_host("Example.ORG", "example.org"));
    CHECK(same_host("example.org.", "example.org"));
    CHECK_FALSE(same_host("example.org..", "example.org"));
    CHECK_FALSE(same_host("example.org", "example.com"));
    CHECK_FALSE(same_host("example.org", "www.example.org"));
    CHECK_FALSE(same_host("", "example.org"));
    CHECK(same_host("[2001:db8::1]", "[2001:DB8:0:0::1]"));
    CHECK_FALSE(same_host("[2001:db8::1]", "[2001:db8::2]"));
}

TEST_CASE("an address is what no name service is asked for") {
    for (const char* address : {"127.0.0.1", "10.0.0.1", "[::]", "[::1]", "[fe80::1]"}) {
        CAPTURE(address);
        CHECK(is_address(address));
    }
    // Browsers turn the short, octal and hexadecimal forms into this one before they send them.
    for (const char* name : {"localhost", "127.0.0.1.", "127.1", "0x7f.0.0.1", "2130706433",
                             "127.0.0.01", "127.0.0.256", "::1", "127.0.0.1.example.org", ""}) {
        CAPTURE(name);
        CHECK_FALSE(is_address(name));
    }
}

TEST_CASE("a host as browsers write it") {
    for (const char* host :
         {"localhost", "a.example.", "1.example", "a.1b", "a.0xg", "127.0.0.1", "[::]", "[::1]",
          "[2001:db8::1]", "[1:0:2::3]", "[::ffff:7f00:1]", "[::102:304]", "[::ffff:0:102]"}) {
        CAPTURE(host);
        CHECK(is_as_browsers_write(host));
    }
    for (const char* host : {"127.1", "127.0.0.1.", "127.0.0.01", "0x7f.0.0.1", "2130706433", "a.1",
                             "a.0x", "a.0xff", "1.2.3.256", "[0:0:0:0:0:0:0:1]",
                             "[2001:db8:0:0::1]", "[::ffff:127.0.0.1]", "[::1.2.3.4]", "[::01]"}) {
        CAPTURE(host);
        CHECK_FALSE(is_as_browsers_write(host));
    }
}

TEST_CASE("loopback addresses") {
    for (const char* address :
         {"127.0.0.1", "127.255.255.254", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"}) {
        CAPTURE(address);
        CHECK(is_loopback(address));
    }
    for (const char* other : {"128.0.0.1", "126.255.255.255", "0.0.0.0", "[::]", "[::2]",
                              "[::ffff:10.0.0.1]", "localhost", "127.0.0.1.nip.io", ""}) {
        CAPTURE(other);
        CHECK_FALSE(is_loopback(other));
    }
}

TEST_CASE("the origin of a page, and the server that it sends to") {
    struct row {
        const char* origin;
        const char* host;
        bool same;
    };
    const std::vector<row> table{
        {"http://localhost:8080", "localhost:8080", true},
        {"http://LOCALHOST:8080", "localhost:8080", true},
        {"http://localhost", "localhost", true},
        {"http://localhost", "localhost:80", true},
        {"http://localhost:80", "localhost", true},
        {"https://example.org", "example.org", true}, // a proxy that speaks TLS is between
        {"https://example.org", "example.org:443", true},
        {"http://[::1]:8080", "[::1]:8080", true},
        {"http://localhost:3000", "localhost:8080", false},
        {"http://localhost", "localhost:8080", false},
        {"https://example.org", "example.org:80", false},
        {"http://127.0.0.1:8080", "localhost:8080", false},
        {"http://evil.example", "localhost:8080", false},
        {"http://localhost.evil.example:8080", "localhost:8080", false},
        {"http://localhost:8080.evil.example", "localhost:8080", false},
        {"http://localhost:8080@evil.example", "localhost:8080", false},
        {"http://localhost:8080 http://evil.example", "localhost:8080", false},
        {"http://localhost:8080/", "localhost:8080", false},
        {"null", "localhost:8080", false},
        {"", "localhost:8080", false},
        {"http://", "", false},
        {"http://localhost", "", false},
        {"localhost:8080", "localhost:8080", false},
        {"ftp://localhost:8080", "localhost:8080", false},
        {"HTTP://localhost:8080", "localhost:8080", false}, // browsers write it small
        {"chrome-extension://abc", "abc", false},
    };
    for (const row& each : table) {
        CAPTURE(each.origin, each.host);
        CHECK(same_origin(each.origin, each.host) == each.same);
    }
}

} // namespace rota::http::detail
