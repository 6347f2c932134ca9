#include "certificate.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "io/logged.hpp"
#include "made_files.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;
using Catch::Matchers::ContainsSubstring;
using rota::io::test::logged;

TEST_CASE("a pair is read with its chain and its names") {
    const key_pair pair = read_key_pair({made("chain.pem"), made("a.key")});
    CHECK(pair.chain.size() == 2);
    CHECK(pair.names == std::vector<std::string>{"a.test", "a2.test"});
    CHECK(pair.ocsp.empty());
    CHECK(read_key_pair(made_pair("b")).names == std::vector<std::string>{"b.test"});
}

TEST_CASE("a certificate of a file that cannot be seen there makes it a broken one") {
    const std::string own = read_file(made("a.pem"));
    const std::string other = read_file(made("ca.pem"));
    std::string trusted = other;
    for (std::size_t at = 0; (at = trusted.find("CERTIFICATE", at)) != std::string::npos; at += 19)
        trusted.insert(at, "TRUSTED ");
    std::string old = other;
    for (std::size_t at = 0; (at = old.find("CERTIFICATE", at)) != std::string::npos; at += 16)
        old.insert(at, "X509 ");
    for (const std::string& behind : {"  " + other, trusted, std::string(3, '\0') + other}) {
        CAPTURE(behind);
        CHECK_THROWS_WITH(read_certificates(written("behind.pem", own + behind)),
                          made("behind.pem") + ": 1 of its 2 certificates can be read: each has to "
                                               "begin a line, with BEGIN CERTIFICATE");
    }
    CHECK_THROWS_WITH(read_certificates(written("alone.pem", " " + own)),
                      ContainsSubstring("0 of its 1 certificates can be read"));
    const std::string text = "subject=a\n-----BEGIN-----\n";
    CHECK(read_certificates(written("both.pem", text + own + "\n" + old + text)).size() == 2);
    CHECK(read_certificates(written("all.pem", own + read_file(made("a.key")) + other)).size() ==
          2);
}

TEST_CASE("facts of a certificate, and its pin") {
    const auto all = read_certificates(made("a.pem"));
    const certificate_facts facts = facts_of(*all.front());
    CHECK(facts.subject == "CN=a.test");
    CHECK(facts.issuer == "CN=authority");
    CHECK(pin_of(*all.front()).size() == 51);
    CHECK(pin_of(*all.front()) != pin_of(*read_certificates(made("b.pem")).front()));
}

TEST_CASE("a certificate that is not good now, or not for long, is told of") {
    const auto said = [](const std::string& name) {
        const logged lines;
        (void)read_key_pair(made_pair(name));
        return lines.text();
    };
    CHECK(said("b").empty());
    CHECK_THAT(said("ended"),
               ContainsSubstring(made("ended.pem") + ": expired on 2001-01-01 00:00:00 UTC"));
    CHECK_THAT(said("to_come"), ContainsSubstring(made("to_come.pem") +
                                                  ": not valid before 2999-01-01 00:00:00 UTC"));
    CHECK_THAT(said("ending"), ContainsSubstring(made("ending.pem") + ": expires on 20"));
}
