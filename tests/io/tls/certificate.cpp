#include "certificate.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include <openssl/crypto.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "io/logged.hpp"
#include "made_files.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;
using Catch::Matchers::ContainsSubstring;
using rota::io::test::logged;

namespace {

/// Of OpenSSL's allocations.
struct shortage {
    int before = 0; // so many are made
    int of = 0;     // so many then fail
    int failed = 0;
    bool takes_this() noexcept {
        if (of == 0 || before-- > 0)
            return false;
        before = 0;
        --of;
        ++failed;
        return true;
    }
};
thread_local shortage lacking;

void* allocate(std::size_t size, const char* /*file*/, int /*line*/) {
    return lacking.takes_this() ? nullptr : std::malloc(size); // NOLINT
}
void* allocate_again(void* old, std::size_t size, const char* /*file*/, int /*line*/) {
    return lacking.takes_this() ? nullptr : std::realloc(old, size); // NOLINT
}
void release(void* block, const char* /*file*/, int /*line*/) { std::free(block); } // NOLINT

// OpenSSL takes them until it has allocated something.
const bool taken = CRYPTO_set_mem_functions(&allocate, &allocate_again, &release) == 1;

} // namespace

TEST_CASE("no file is out of order because memory is lacking") {
    REQUIRE(taken);
    const certificate_files files{made("chain.pem"), made("a.key")};
    const key_pair good = read_key_pair(files);
    for (const int of : {1, 3, 1'000'000}) {
        for (int before = 0; before >= 0; before += 11) {
            CAPTURE(of, before);
            const logged lines;
            std::string wrong;
            lacking = {before, of};
            try {
                const key_pair pair = read_key_pair(files);
                lacking.of = 0;
                CHECK(pair.chain.size() == good.chain.size());
                CHECK(pair.names == good.names);
                CHECK(pair.other_names == good.other_names);
            } catch (const unusable_file& e) {
                wrong = e.what();
            } catch (const std::runtime_error&) { // it is read again later
            }
            CHECK(wrong + lines.text() == "");
            if (lacking.failed == 0)
                break;
            lacking = {};
        }
    }
}

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
    CHECK_THROWS(read_certificates(written("joined.pem", own.substr(0, own.size() - 1) + other)));
    const std::string text = "subject=a\n-----BEGIN-----\n# -----BEGIN CERTIFICATE----- of a\n";
    CHECK(read_certificates(written("both.pem", text + own + "\n" + old + text)).size() == 2);
    CHECK(read_certificates(written("all.pem", own + read_file(made("a.key")) + other)).size() ==
          2);
}

TEST_CASE("a block without content makes a file a broken one") {
    const std::string own = read_file(made("a.pem"));
    const std::string end = "-----END CERTIFICATE-----\n";
    const std::string empty = "-----BEGIN CERTIFICATE-----\n" + end;
    const std::string blank = "-----BEGIN CERTIFICATE-----\r\n \r\n" + end;
    const std::string key = "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n";
    for (const std::string& text : {empty, blank, own + empty, empty + own, own + key}) {
        CAPTURE(text);
        CHECK_THROWS_AS(read_certificates(written("empty.pem", text)), unusable_file);
        CHECK_THROWS_WITH(read_certificates(made("empty.pem")),
                          made("empty.pem") + ": a certificate in it is broken: an empty block");
    }
}

TEST_CASE("a key that nothing here can sign with is refused") {
    CHECK_THROWS_AS(read_key_pair(made_pair("x25519")), unusable_file);
    CHECK_THROWS_WITH(read_key_pair(made_pair("x25519")),
                      made("x25519.key") + ": TLS cannot sign with a key of this kind: it takes "
                                           "ECDSA, RSA, RSA-PSS, Ed25519 and Ed448");
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
