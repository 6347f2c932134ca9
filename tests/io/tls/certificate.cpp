#include "certificate.hpp"

#include <catch2/catch_test_macros.hpp>

#include "made_files.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;

TEST_CASE("a pair is read with its chain and its names") {
    const key_pair pair = read_key_pair({made("chain.pem"), made("a.key")});
    CHECK(pair.chain.size() == 2);
    CHECK(pair.names == std::vector<std::string>{"a.test", "a2.test"});
    CHECK(pair.ocsp.empty());
    CHECK(read_key_pair(made_pair("b")).names == std::vector<std::string>{"b.test"});
}

TEST_CASE("facts of a certificate, and its pin") {
    const auto all = read_certificates(made("a.pem"));
    const certificate_facts facts = facts_of(*all.front());
    CHECK(facts.subject == "CN=a.test");
    CHECK(facts.issuer == "CN=authority");
    CHECK(pin_of(*all.front()).size() == 51);
    CHECK(pin_of(*all.front()) != pin_of(*read_certificates(made("b.pem")).front()));
}
