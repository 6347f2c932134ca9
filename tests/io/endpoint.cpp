#include <rota/io/endpoint.hpp>

#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <netinet/in.h>
#include <sys/un.h>

using rota::io::endpoint;

TEST_CASE("addresses are parsed and written") {
    struct row {
        std::string text;
        int family;
        std::uint16_t port;
        std::string written;
    };
    const row r = GENERATE(values<row>({
        {"127.0.0.1:80", AF_INET, 80, "127.0.0.1:80"},
        {"0.0.0.0:0", AF_INET, 0, "0.0.0.0:0"},
        {"255.255.255.255:65535", AF_INET, 65535, "255.255.255.255:65535"},
        {"localhost:8080", AF_INET, 8080, "127.0.0.1:8080"},
        {"[127.0.0.1]:80", AF_INET, 80, "127.0.0.1:80"},
        {"80", AF_INET, 80, "127.0.0.1:80"},
        {":0", AF_INET, 0, "127.0.0.1:0"},
        {"*:80", AF_INET6, 80, "[::]:80"},
        {"[::]:80", AF_INET6, 80, "[::]:80"},
        {"[::1]:0", AF_INET6, 0, "[::1]:0"},
        {"[2001:DB8:0:0::1]:443", AF_INET6, 443, "[2001:db8::1]:443"},
        {"[::ffff:10.0.0.1]:1", AF_INET6, 1, "10.0.0.1:1"},
        {"[fe80::1%1]:80", AF_INET6, 80, "[fe80::1%1]:80"},
        {"[fe80::1%lo]:80", AF_INET6, 80, "[fe80::1%1]:80"},
        {"unix:/run/x.sock", AF_UNIX, 0, "unix:/run/x.sock"},
        {"unix:x", AF_UNIX, 0, "unix:x"},
        {"unix:@name", AF_UNIX, 0, "unix:@name"},
        {"unix:/a:b@c", AF_UNIX, 0, "unix:/a:b@c"},
    }));
    CAPTURE(r.text);
    const endpoint parsed = endpoint::parse(r.text);
    CHECK(parsed.family() == r.family);
    CHECK(parsed.port() == r.port);
    CHECK(parsed.to_string() == r.written);
    // What was written can be parsed again, and the kernel's form of it makes the same endpoint.
    CHECK(endpoint::parse(r.written).to_string() == r.written);
    const endpoint copy = endpoint::from(parsed.address(), parsed.length());
    CHECK(copy.to_string() == r.written);
    CHECK(copy.length() == parsed.length());
}

TEST_CASE("what is no address is refused, and the message names it") {
    const std::string text =
        GENERATE(as<std::string>{}, "", ":", "80x", ":80x", "65536", "127.0.0.1",
                 "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:-1", "127.0.0.1:+80", "127.0.0.1: 80",
                 "127.0.0.1:80 ", "127.0.0.1:65536", "127.0.0.1:99999999999", "127.0.0.1:0x50",
                 "1.2.3:80", "1.2.3.4.5:80", "256.0.0.1:80", "example.org:80", "::1:80", "::1",
                 "[::1]", "[::1:80", "[]:80", "[::1%]:80", "[::1%nosuchinterface0]:80", "[::g]:80",
                 "127.0.0.1%lo:80", "unix:", "unix:@", "http://127.0.0.1:80", "[fe80::1%lo]");
    CAPTURE(text);
    try {
        const endpoint e = endpoint::parse(text);
        FAIL("parsed as " << e.to_string());
    } catch (const std::invalid_argument& e) {
        CHECK(std::string(e.what()).starts_with("address \""));
    }
}

TEST_CASE("a list of endpoints is a list of texts") {
    const std::string text = "unix:@name";
    const std::vector<endpoint> all{"127.0.0.1:80", text, std::string_view("[::1]:1"), "8080"};
    REQUIRE(all.size() == 4);
    CHECK(all[1].to_string() == text);
    CHECK(all[3].to_string() == "127.0.0.1:8080");
    const std::vector<endpoint> one = {"127.0.0.1:80"};
    CHECK(one.size() == 1);
    const std::vector<endpoint> two = {"127.0.0.1:80", "127.0.0.1:81"};
    CHECK(two.size() == 2);
    CHECK_THROWS_AS(endpoint("nowhere"), std::invalid_argument);
}

TEST_CASE("an address is refused that has a zero byte in it") {
    using namespace std::string_view_literals;
    CHECK_THROWS_AS(endpoint::ip("127.0.0.1\0.2"sv, 80), std::invalid_argument);
    CHECK_THROWS_AS(endpoint::ip("::1\0"sv, 80), std::invalid_argument);
    CHECK_THROWS_AS(endpoint::unix_path("/tmp/a\0b"sv), std::invalid_argument);
    CHECK(endpoint::unix_path("@a\0b"sv).length() == offsetof(sockaddr_un, sun_path) + 4);
}

TEST_CASE("the name of a Unix socket is one word of a log") {
    using namespace std::string_view_literals;
    CHECK(endpoint::unix_path("/a b\n\"c\\\x1b[31m\x7f\xc3\xa4~").to_string() ==
          R"(unix:/a\x20b\x0a\x22c\x5c\x1b[31m\x7f\xc3\xa4~)");
    CHECK(endpoint::unix_path("@a\0\nb"sv).to_string() == R"(unix:@a\x00\x0ab)");
}

TEST_CASE("Unix paths are bounded by the address, abstract names use it to the last byte") {
    constexpr std::size_t room = sizeof(sockaddr_un::sun_path);
    const std::string path(room - 1, 'p');
    CHECK(endpoint::unix_path(path).file_path() == path);
    CHECK(endpoint::unix_path(path).length() == sizeof(sockaddr_un));
    CHECK_THROWS_AS(endpoint::unix_path(path + "p"), std::invalid_argument);

    const std::string name = "@" + std::string(room - 1, 'n');
    const endpoint abstract = endpoint::unix_path(name);
    CHECK(abstract.length() == sizeof(sockaddr_un));
    CHECK(abstract.to_string() == "unix:" + name);
    CHECK(abstract.file_path().empty());
    CHECK_THROWS_AS(endpoint::unix_path(name + "n"), std::invalid_argument);
}

TEST_CASE("only a Unix socket with a name in the file system has a path") {
    CHECK(endpoint::parse("unix:/run/x").file_path() == "/run/x");
    CHECK(endpoint::parse("127.0.0.1:1").file_path().empty());
    // The peer of a Unix server usually has no name at all (man 7 unix).
    sockaddr_un unnamed{};
    unnamed.sun_family = AF_UNIX;
    const auto* address = reinterpret_cast<const sockaddr*>(&unnamed);
    const endpoint nobody = endpoint::from(address, sizeof(sa_family_t));
    CHECK(nobody.file_path().empty());
    CHECK(nobody.to_string() == "unix:");
}

TEST_CASE("a path without a terminating zero in the kernel's answer is not read beyond its end") {
    // getpeername() may fill sun_path to its last byte (man 7 unix, BUGS).
    sockaddr_un full{};
    full.sun_family = AF_UNIX;
    std::memset(full.sun_path, 'f', sizeof full.sun_path);
    const endpoint e = endpoint::from(reinterpret_cast<const sockaddr*>(&full), sizeof full);
    CHECK(e.file_path() == std::string(sizeof full.sun_path, 'f'));
    CHECK(e.to_string() == "unix:" + std::string(sizeof full.sun_path, 'f'));
}

TEST_CASE("endpoints are keys") {
    const std::vector<std::string> texts{"127.0.0.1:80", "127.0.0.1:81",         "127.0.0.2:80",
                                         "[::1]:80",     "unix:/run/x",          "unix:/run/xy",
                                         "unix:@x",      "[::ffff:127.0.0.1]:80"};
    const std::set<endpoint> sorted(texts.begin(), texts.end());
    const std::unordered_set<endpoint> hashed(texts.begin(), texts.end());
    CHECK(sorted.size() == texts.size());
    CHECK(hashed.size() == texts.size());
    for (const std::string& text : texts) {
        CHECK(sorted.contains(text));
        CHECK(hashed.contains(text));
    }
    CHECK_FALSE(sorted.contains(endpoint()));
}

TEST_CASE("an empty endpoint says so") {
    CHECK(endpoint{}.to_string() == "unknown address");
    CHECK(endpoint{}.port() == 0);
    CHECK(endpoint{}.file_path().empty());
}
