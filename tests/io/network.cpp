#include <rota/io/network.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace rota::io {
namespace {

bool is_in(std::string_view address, std::string_view where) {
    const auto parsed = ip_address::parse(address);
    REQUIRE(parsed);
    return network::parse(where).contains(*parsed);
}

} // namespace

TEST_CASE("addresses in their usual notation") {
    struct row {
        std::string_view text;
        std::string_view written;
        bool v4;
    };
    for (const row& r : std::vector<row>{{"192.0.2.1", "192.0.2.1", true},
                                         {"0.0.0.0", "0.0.0.0", true},
                                         {"2001:DB8:0::1", "2001:db8::1", false},
                                         {"::", "::", false},
                                         {"::1", "::1", false},
                                         {"::ffff:192.0.2.1", "192.0.2.1", true},
                                         {"::FFFF:c000:201", "192.0.2.1", true}}) {
        CAPTURE(r.text);
        const auto parsed = ip_address::parse(r.text);
        REQUIRE(parsed);
        CHECK(parsed->to_string() == r.written);
        CHECK(parsed->is_v4() == r.v4);
        CHECK(ip_address::parse(r.written) == parsed);
    }
    for (const std::string_view wrong :
         {"", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", " 1.2.3.4", "1.2.3.4 ",
          "1.2.3.4:5", "[::1]", "::1%lo", ":::", "12345::", "example.org", "localhost", "1.2.3.4/8",
          "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"})
        CHECK_FALSE(ip_address::parse(wrong));
    CHECK_FALSE(ip_address::parse(std::string_view("1.2.3.4\0", 8)));
}

TEST_CASE("addresses of sockets") {
    CHECK(ip_address::of("192.0.2.1:80")->to_string() == "192.0.2.1");
    CHECK(ip_address::of("[::ffff:192.0.2.1]:80")->to_string() == "192.0.2.1");
    CHECK(ip_address::of("[fe80::1%1]:80")->to_string() == "fe80::1");
    CHECK_FALSE(ip_address::of("unix:/run/x"));
    CHECK_FALSE(ip_address::of(endpoint()));
}

TEST_CASE("what is in a network") {
    CHECK(is_in("10.255.0.1", "10.0.0.0/8"));
    CHECK(is_in("10.255.0.1", "10.9.9.9/8")); // the bits behind do not count
    CHECK_FALSE(is_in("11.0.0.0", "10.0.0.0/8"));
    CHECK(is_in("192.168.15.255", "192.168.0.0/20"));
    CHECK_FALSE(is_in("192.168.16.0", "192.168.0.0/20"));
    CHECK(is_in("192.0.2.7", "192.0.2.7"));
    CHECK_FALSE(is_in("192.0.2.6", "192.0.2.7/32"));
    CHECK(is_in("192.0.2.6", "192.0.2.7/31"));
    CHECK(is_in("203.0.113.1", "0.0.0.0/0"));
    CHECK_FALSE(is_in("::1", "0.0.0.0/0"));
    CHECK(is_in("2001:db8:ffff::", "2001:db8::/32"));
    CHECK_FALSE(is_in("2001:db9::", "2001:db8::/32"));
    CHECK(is_in("2001:db8::1", "::/0"));
    CHECK_FALSE(is_in("192.0.2.1", "::/0")); // nor is ::ffff:192.0.2.1, which is the same
    CHECK_FALSE(is_in("::ffff:192.0.2.1", "::/0"));
    CHECK(is_in("::ffff:10.1.1.1", "10.0.0.0/8"));
    CHECK(is_in("10.1.1.1", "::ffff:10.0.0.0/104"));
    CHECK_FALSE(is_in("11.1.1.1", "::ffff:10.0.0.0/104"));
    CHECK(is_in("::1", "::1"));
    CHECK_FALSE(is_in("::2", "::1"));
    CHECK(network::parse("10.0.0.0/8").to_string() == "10.0.0.0/8");
    CHECK(network::parse("::ffff:10.0.0.0/104").to_string() == "10.0.0.0/8");
    CHECK(network::parse("::ffff:0:0/96").to_string() == "0.0.0.0/0");
    CHECK(network::parse("2001:db8::/32").to_string() == "2001:db8::/32");
    CHECK(network::parse("::1").to_string() == "::1/128");
}

TEST_CASE("what is no network is refused, and the message names it") {
    for (const char* const wrong :
         {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8 ",
          "10.0.0.0/8/8", "10.0.0/8", "10/8", "::/129", "[::]/0", "example.org/8", "10.0.0.0/0x8",
          "10.0.0.0/99999999999", "::ffff:10.0.0.0/8", "::ffff:0:0/95"}) {
        CAPTURE(wrong);
        try {
            (void)network::parse(wrong);
            FAIL("taken");
        } catch (const std::invalid_argument& e) {
            CHECK(std::string_view(e.what()).find(wrong) != std::string_view::npos);
        }
    }
}

TEST_CASE("several networks, and Unix sockets") {
    const network_list none;
    CHECK(none.empty());
    CHECK_FALSE(none.contains(endpoint("127.0.0.1:1")));
    const network_list some({"10.0.0.0/8", "::1", "unix"});
    CHECK_FALSE(some.empty());
    CHECK(some.contains(endpoint("10.1.1.1:1")));
    CHECK(some.contains(endpoint("[::1]:1")));
    CHECK(some.contains(endpoint("unix:/run/x")));
    CHECK_FALSE(some.contains(endpoint("127.0.0.1:1")));
    CHECK_FALSE(network_list({"10.0.0.0/8"}).contains(endpoint("unix:/run/x")));
    CHECK_FALSE(network_list({"unix"}).empty());
    CHECK_THROWS_AS(network_list({"10.0.0.0/8", "unix:/run/x"}), std::invalid_argument);
}

} // namespace rota::io
