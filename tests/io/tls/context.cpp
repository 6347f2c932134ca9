#include <rota/io/tls/context.hpp>

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <rota/io/tls/stream.hpp>

#include "both_ends.hpp"
#include "certificate.hpp"
#include "io/logged.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using rota::io::test::logged;

namespace {

/// The certificate that a client which asks for `host` is shown; a failure is thrown.
std::string shown(context& server, const std::string& host, client_options how = sample_client()) {
    context client(std::move(how));
    both_ends ends(server, client, host);
    ends.talk({}, {});
    return ends.client.peer_certificate()->subject;
}

server_options only(certificate_files pair) {
    server_options options;
    options.certificates = {std::move(pair)};
    return options;
}

/// Nothing can be opened while it lives.
class no_descriptors {
public:
    no_descriptors() {
        const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(lowest);
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{static_cast<rlim_t>(lowest), before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    no_descriptors(const no_descriptors&) = delete;
    no_descriptors& operator=(const no_descriptors&) = delete;
    ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("a client is shown the certificate for the name that it asks for") {
    context server(sample_server());
    CHECK(server.names() ==
          std::vector<std::string>{"b.test", "a.test", "a2.test", "*.w.test", "deep.x.w.test"});
    CHECK(shown(server, "a.test") == "CN=a.test");
    CHECK(shown(server, "A2.Test") == "CN=a.test");
    CHECK(shown(server, "b.test") == "CN=b.test");
    CHECK(shown(server, "some.w.test") == "CN=w");
    CHECK(shown(server, "deep.x.w.test") == "CN=w");
    // Others get the first, which is not for them.
    for (const std::string host : {"c.test", "w.test", "other.x.w.test"})
        CHECK_THROWS_AS(shown(server, host), failure);
}

TEST_CASE("the server knows the name, and which other hosts belong elsewhere") {
    context server(sample_server());
    context client(sample_client());
    both_ends ends(server, client, "A.test");
    ends.talk({}, {});
    CHECK(ends.server.server_name() == "a.test");
    CHECK_FALSE(ends.server.is_misdirected("a.test"));
    CHECK_FALSE(ends.server.is_misdirected("a.test:8443"));
    CHECK_FALSE(ends.server.is_misdirected("A2.TEST."));
    CHECK(ends.server.is_misdirected("b.test"));
    CHECK(ends.server.is_misdirected("x.w.test:443"));
    CHECK_FALSE(ends.server.is_misdirected("unknown.test"));
    CHECK_FALSE(ends.server.is_misdirected("[::1]:8443"));
    CHECK_FALSE(ends.server.is_misdirected(""));
}

TEST_CASE("a client trusts chains to its roots, for the name, and pins") {
    context server(only(made_pair("a")));
    CHECK(shown(server, "127.0.0.1") == "CN=a.test");
    CHECK_THROWS_AS(shown(server, "127.0.0.2"), failure);
    CHECK_THROWS_AS(shown(server, "b.test"), failure);
    client_options how = sample_client();
    how.roots = {made("other.pem")};
    CHECK_THROWS_MATCHES(shown(server, "a.test", how), failure,
                         MessageMatches(ContainsSubstring("unable to get")));
    how.roots.clear();
    CHECK_THROWS_AS(context(how), std::invalid_argument);
    how.pins = {"sha256/" + std::string(43, 'A') + '='};
    CHECK_THROWS_MATCHES(shown(server, "a.test", how), failure,
                         MessageMatches(ContainsSubstring("pinned")));
    how.pins.push_back(pin_of(*read_certificates(made("a.pem")).front()));
    CHECK(shown(server, "a.test", how) == "CN=a.test");
    how.roots = {made("other.pem")}; // both are wanted then
    CHECK_THROWS_MATCHES(shown(server, "a.test", how), failure,
                         MessageMatches(ContainsSubstring("unable to get")));
    for (const std::string& none :
         {std::string("sha1/abc"), "sha256/" + std::string(44, 'A'),
          "sha256/!" + std::string(42, 'A') + '=', "sha256/" + std::string(42, 'A') + "B=",
          "sha256/ " + std::string(42, 'A') + '=', "sha256/" + std::string(42, 'A') + "=="}) {
        CAPTURE(none);
        how.pins = {none};
        CHECK_THROWS_AS(context(how), std::invalid_argument);
    }
}

TEST_CASE("what is no name of a host is refused before anything is sent") {
    context server(only(made_pair("w"))); // *.w.test, deep.x.w.test
    context client(sample_client());
    pipe_end over;
    for (const std::string& none :
         {std::string(), std::string("."), std::string(".."), std::string(".test"),
          std::string(".w.test"), std::string(".x.w.test"), std::string("deep.x.w.test\0.org", 18),
          std::string("deep.x.w.test:1\0.org", 20), std::string("127.0.0.1\0.org", 14),
          std::string("*.w.test"), std::string("a b.w.test"), std::string("d\xc3\xa9.w.test"),
          std::string("a.w.test:https"), std::string("[::1"), std::string("[::1].org"),
          std::string("[a.w.test]"), std::string(300, 'a')}) {
        CAPTURE(none);
        CHECK_THROWS_AS(stream(over, client, none), std::invalid_argument);
    }
    for (const char* const none :
         {"a.w.test..", "a..w.test", "a.w.test:65536", "a.w.test:99999999", "010.0.0.1",
          "010.0.0.1.", "127.1", "2130706433", "0x7f.0.0.0x1", "0x7f000001:443", "w.0x"}) {
        CAPTURE(none);
        CHECK_THROWS_AS(stream(over, client, none), std::invalid_argument);
    }
    CHECK(over.waiting() == 0);
    for (const char* const name : {"A.w.test", "a-b.w.test:65535", "0x1.w.test", "deep.x.w.test."})
        CHECK(shown(server, name) == "CN=w");
    context by_address(only(made_pair("a")));
    for (const char* const name : {"127.0.0.1", "127.0.0.1:443"})
        CHECK(shown(by_address, name) == "CN=a.test");
    for (const char* const name : {"::1", "[::1]", "[::1]:443"})
        CHECK_NOTHROW(stream(over, client, name));
}

TEST_CASE("clients present certificates where they have to") {
    server_options options = sample_server();
    options.client_ca = made("ca.pem");
    context server(options);
    client_options how = sample_client();
    how.certificate = made_pair("ann");
    {
        context client(how);
        both_ends ends(server, client, "b.test");
        ends.talk({}, {});
        const auto facts = ends.server.peer_certificate();
        REQUIRE(facts.has_value());
        CHECK(facts->subject == "O=people,CN=ann");
        CHECK(facts->issuer == "CN=authority");
        CHECK(facts->names == std::vector<std::string>{"ann.test"});
        CHECK(facts->sha256.size() == 64);
        CHECK_FALSE(facts->serial.empty());
    }
    for (const std::string name : {"stranger", ""}) {
        how.certificate.reset();
        if (!name.empty())
            how.certificate = made_pair(name);
        context client(how);
        both_ends ends(server, client, "b.test");
        ends.start({}, {});
        ends.carry();
        CHECK(both_ends::failure_of(ends.server_routine).has_value());
    }
}

TEST_CASE("trust need not go up to a root") {
    context server([] {
        server_options options = only(made_pair("leaf"));
        options.client_ca = made("middle.pem");
        return options;
    }());
    client_options how = sample_client();
    how.roots = {made("middle.pem")};
    how.certificate = made_pair("leaf");
    CHECK(shown(server, "leaf.test", how) == "CN=leaf");
    how.certificate = made_pair("ann"); // of the one above it
    context client(how);
    both_ends ends(server, client, "leaf.test");
    ends.start({}, {});
    ends.carry();
    CHECK(both_ends::failure_of(ends.server_routine).has_value());
}

TEST_CASE("a common name is no host's name") {
    context server(only(made_pair("named")));
    CHECK_THROWS_MATCHES(shown(server, "named.test"), failure,
                         MessageMatches(ContainsSubstring("hostname mismatch")));
}

TEST_CASE("both agree on a protocol, or on nothing at all") {
    server_options options = sample_server();
    options.alpn = {"h2", "http/1.1"};
    context server(options);
    const auto agreed = [&](std::vector<std::string> offers) {
        client_options how = sample_client();
        how.alpn = std::move(offers);
        context client(how);
        both_ends ends(server, client, "b.test");
        ends.talk({}, {});
        CHECK(ends.server.protocol() == ends.client.protocol());
        return std::string(ends.server.protocol());
    };
    CHECK(agreed({"http/1.1", "h2"}) == "h2");
    CHECK(agreed({"http/1.1"}) == "http/1.1");
    CHECK(agreed({}).empty());
    CHECK_THROWS_MATCHES(agreed({"spdy"}), failure,
                         MessageMatches(ContainsSubstring("no application protocol")));
    options.alpn = {""};
    CHECK_THROWS_AS(context(options), std::invalid_argument);
}

TEST_CASE("versions and ciphers are those that are left") {
    context server(sample_server());
    context client(sample_client());
    both_ends ends(server, client, "b.test");
    ends.talk({}, {});
    CHECK(ends.server.used() == version::tls1_3);
    CHECK(ends.server.cipher().starts_with("TLS_"));
    CHECK_FALSE(ends.server.resumed());
}

TEST_CASE("what is wrong with a file is said with its name") {
    const auto why = [](const server_options& options) -> std::string {
        try {
            const context made(options);
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "";
    };
    CHECK(why(only({made("none.pem"), made("a.key")})) ==
          made("none.pem") + ": No such file or directory");
    CHECK(why(only({made("a.pem"), made("none.key")})) ==
          made("none.key") + ": No such file or directory");
    CHECK(why(only({made("a.key"), made("a.key")})) ==
          made("a.key") + ": no certificate in it (PEM)");
    CHECK(why(only({made("a.pem"), made("b.key")})) ==
          made("b.key") + ": not the key of the first certificate in " + made("a.pem"));
    CHECK_THAT(why(only({made("a.pem"), made("a.pem")})),
               ContainsSubstring(made("a.pem") + ": no private key in it (PEM)"));
    CHECK_THAT(why(only({made("a.pem"), made("locked.key")})),
               ContainsSubstring(made("locked.key") + ": the key is encrypted"));
    REQUIRE(::mkfifo(made("pipe").c_str(), 0600) == 0);
    CHECK(why(only({made("pipe"), made("a.key")})) == made("pipe") + ": no regular file");
    CHECK(why(only({made("a.pem"), made("")})) == made("") + ": no regular file");
    server_options options = sample_server();
    options.client_ca = written("empty", "");
    CHECK_THAT(why(options), ContainsSubstring("no certificate in it"));
    options.client_ca =
        written("broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    CHECK_THAT(why(options), ContainsSubstring("broken: a certificate in it is broken"));
    options = sample_server();
    options.ticket_keys = written("short", "abc");
    CHECK_THAT(why(options), ContainsSubstring("80 bytes"));
    options.ticket_keys.clear();
    options.certificates.clear();
    CHECK_THROWS_AS(context(options), std::invalid_argument);
}

TEST_CASE("files are read again, and what is broken changes nothing") {
    const auto copy = [](const std::string& from, const std::string& to) {
        std::ifstream in(made(from), std::ios::binary);
        return written(to, {std::istreambuf_iterator<char>(in), {}});
    };
    const certificate_files pair{copy("a.pem", "now.pem"), copy("a.key", "now.key")};
    context server(only(pair));
    CHECK(shown(server, "a.test") == "CN=a.test");
    copy("b.pem", "now.pem");
    CHECK_THROWS_AS(server.reload(), std::runtime_error); // the key is another's
    CHECK(shown(server, "a.test") == "CN=a.test");
    copy("b.key", "now.key");
    context client(sample_client());
    both_ends before(server, client, "a.test");
    before.talk({}, {});
    server.reload();
    CHECK(shown(server, "b.test") == "CN=b.test");
    // Who is connected stays so.
    REQUIRE(before.server.try_write("there\n"));
    before.client_pipe.deliver(before.server_pipe.take());
    CHECK(before.scheduler.run_task(before.client.read_line()) == "there");
}

TEST_CASE("only files that have changed are read again, and what is broken throws once") {
    server_options options = only(
        {written("watched.pem", read_file(made("a.pem"))), made("a.key"), made("watched.ocsp")});
    context server(options);
    CHECK_FALSE(server.reload_changed());
    (void)written("watched.pem", "broken");
    CHECK_THROWS_AS(server.reload_changed(), std::runtime_error);
    CHECK_FALSE(server.reload_changed());
    CHECK(shown(server, "a.test") == "CN=a.test");
    (void)written("watched.pem", read_file(made("chain.pem")));
    CHECK(server.reload_changed());
    (void)written("watched.ocsp", read_file(made("a.ocsp")));
    CHECK(server.reload_changed());
    server.reload();
    CHECK_FALSE(server.reload_changed());
    client_options how = sample_client();
    how.roots = {written("roots.pem", read_file(made("other.pem")))};
    context client(how);
    CHECK_FALSE(client.reload_changed());
    (void)written("roots.pem", read_file(made("chain.pem")));
    CHECK(client.reload_changed());
}

TEST_CASE("files that cannot be read now are read when they can be, and that is said once") {
    context server(
        only({written("short.pem", read_file(made("a.pem"))), made("a.key"), made("short.ocsp")}));
    (void)written("short.pem", read_file(made("chain.pem")));
    {
        const no_descriptors now;
        CHECK_THROWS_MATCHES(server.reload_changed(), std::runtime_error,
                             MessageMatches(ContainsSubstring("short.pem: Too many open files")));
        CHECK_FALSE(server.reload_changed());
        CHECK_THROWS_AS(server.reload(), std::runtime_error);
        CHECK_FALSE(server.reload_changed());
    }
    CHECK(server.reload_changed());
    CHECK_FALSE(server.reload_changed());
    {
        const no_descriptors now;
        CHECK_FALSE(server.reload_changed());
        (void)::truncate(made("short.pem").c_str(), 0);
        CHECK_THROWS_AS(server.reload_changed(), std::runtime_error); // it is another time
    }
    CHECK_THROWS_MATCHES(server.reload_changed(), std::runtime_error,
                         MessageMatches(ContainsSubstring("no certificate in it")));
    CHECK_FALSE(server.reload_changed());
}

TEST_CASE("keys of two kinds for the same names are offered together") {
    server_options options;
    options.certificates = {made_pair("a"), made_pair("a_rsa")};
    context server(options);
    CHECK(server.names() == std::vector<std::string>{"a.test", "a2.test"});
    CHECK(shown(server, "a.test") == "CN=a.test");
}

TEST_CASE("certificates without a host name go together if they are for the same addresses") {
    const auto only_these = [](certificate_files one, certificate_files other) {
        server_options options;
        options.certificates = {std::move(one), std::move(other)};
        return options;
    };
    const logged lines;
    context same(only_these(made_pair("ip1_rsa"), made_pair("ip1")));
    CHECK(shown(same, "127.0.0.1") == "O=ip1"); // as clients like it better
    CHECK(lines.text().empty());
    context others(only_these(made_pair("ip2_rsa"), made_pair("ip1")));
    CHECK(shown(others, "127.0.0.2") == "O=ip2_rsa");
    CHECK_THAT(lines.text(), ContainsSubstring(made("ip1.pem") + ": never shown, as no host name"));
}

TEST_CASE("a certificate that nobody is shown is told of") {
    const auto said = [](std::vector<certificate_files> pairs) {
        server_options options;
        options.certificates = std::move(pairs);
        const logged lines;
        const context made_of(std::move(options));
        return lines.text();
    };
    const certificate_files twice{written("twice.pem", read_file(made("a.pem"))), made("a.key")};
    CHECK_THAT(said({made_pair("a"), made_pair("b"), twice}),
               ContainsSubstring(made("twice.pem") + ": never shown, as " + made("a.pem") +
                                 " comes first for its names"));
    const certificate_files nameless{made("ca.pem"), made("ca.key")}; // but for its common name
    CHECK(said({made_pair("b"), made_pair("a"), made_pair("a_rsa"), nameless}).empty());
    const certificate_files wild{written("wild.pem", read_file(made("w.pem"))), made("w.key")};
    CHECK_THAT(said({made_pair("b"), made_pair("w"), wild}),
               ContainsSubstring(made("wild.pem") + ": never shown, as " + made("w.pem")));
}

TEST_CASE("a certificate that clients do not take is told of") {
    const auto said = [](certificate_files pair) {
        server_options options;
        options.certificates = {std::move(pair)};
        const logged lines;
        const context made_of(std::move(options));
        return lines.text();
    };
    CHECK(said(made_pair("for_both")).empty());
    CHECK_THAT(said(made_pair("for_clients")),
               ContainsSubstring(made("for_clients.pem") + ": its extended key usage leaves out "
                                                           "servers, so clients refuse it"));
    CHECK_THAT(said(made_pair("k1")), ContainsSubstring(made("k1.pem") + ": few clients take its "
                                                                         "curve, secp256k1"));
    const std::string own = read_file(made("a.pem"));
    std::string chain = own;
    for (int i = 0; i < 9; ++i)
        chain += read_file(made("ca.pem"));
    CHECK(said({written("ten.pem", chain), made("a.key")}).empty());
    CHECK_THAT(said({written("eleven.pem", chain + own), made("a.key")}),
               ContainsSubstring(made("eleven.pem") +
                                 ": 11 certificates in it, and some clients take no more than 10"));
}

TEST_CASE("a stream is of its context's side") {
    context server(sample_server());
    context client(sample_client());
    pipe_end over;
    CHECK_THROWS_AS(stream(over, client), std::logic_error);
    CHECK_THROWS_AS(stream(over, server, "a.test"), std::logic_error);
}

TEST_CASE("connections outlive their context, and what it was made of again") {
    auto server = std::make_unique<context>(sample_server());
    auto client = std::make_unique<context>(sample_client());
    both_ends ends(*server, *client, "a.test");
    ends.start({}, {});
    server->reload();
    server.reset();
    client.reset();
    ends.carry();
    REQUIRE(ends.server.try_write("still\n"));
    ends.client_pipe.deliver(ends.server_pipe.take());
    CHECK(ends.scheduler.run_task(ends.client.read_line()) == "still");
    CHECK(ends.server.is_misdirected("b.test"));
}
