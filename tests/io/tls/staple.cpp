#include "staple.hpp"

#include <string>
#include <system_error>

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

/// A pair with its issuer in the file of its certificate, and a response.
certificate_files chain_and(const std::string& response) {
    return {made("chain.pem"), made("a.key"), made(response)};
}

} // namespace

TEST_CASE("a response that is not about the certificate is no staple, and the log says so") {
    certificate_files files = made_pair("a");
    const auto staple = [&](const std::string& path, const std::string& warning) {
        files.ocsp = path;
        const logged lines;
        std::string found = read_key_pair(files).ocsp;
        if (warning.empty())
            CHECK(lines.text().empty());
        else
            CHECK_THAT(lines.text(), ContainsSubstring(path + ": " + warning));
        return found;
    };
    CHECK(staple(made("a.ocsp"), "") == read_file(made("a.ocsp")));
    CHECK(staple(made("a_and_rsa.ocsp"), "") == read_file(made("a_and_rsa.ocsp")));
    CHECK(
        staple(made("a_rsa.ocsp"), "says nothing of the certificate in " + made("a.pem")).empty());
    CHECK(staple(made("none.ocsp"), "no such file").empty());
    CHECK(staple(made("a.pem"), "no OCSP response (DER)").empty());
    CHECK(staple(written("empty.ocsp", ""), "no OCSP response (DER)").empty());
    const std::string good = read_file(made("a.ocsp"));
    CHECK(staple(written("longer.ocsp", good + "junk"), "no OCSP response (DER)").empty());
    // Its times: producedAt, thisUpdate, nextUpdate.
    const auto dated = [&good](int which, const std::string& year) {
        std::string der = good;
        std::size_t at = 0;
        for (int i = 0; i <= which; ++i)
            at = der.find("\x18\x0f", at) + 2;
        return der.replace(at, 4, year);
    };
    CHECK_FALSE(
        staple(written("to_come.ocsp", dated(1, "2999")), "not valid before 2999-").empty());
    CHECK(read_key_pair(files).ocsp_from > 32'000'000'000);
    CHECK(staple(written("over.ocsp", dated(2, "2001")), "out of date since 2001-").empty());
    // tryLater (RFC 6960 section 4.2.1)
    CHECK(staple(written("later.ocsp", "\x30\x03\x0a\x01\x03"), "the OCSP response says").empty());
    files.ocsp = "/proc/self/mem"; // which is there, and cannot be read: EIO
    CHECK_THROWS_AS(read_key_pair(files), std::system_error);
    files = {made("chain.pem"), made("a.key")};
    CHECK(staple(made("a.ocsp"), "") == read_file(made("a.ocsp")));
}

TEST_CASE("where the issuer is at hand, a response has to be signed by it or for it") {
    for (const certificate_files& files :
         {chain_and("a.ocsp"), chain_and("a_and_rsa.ocsp"), chain_and("by_delegate.ocsp"),
          certificate_files{made("leaf.chain"), made("leaf.key"), made("leaf.ocsp")}}) {
        CAPTURE(files.ocsp);
        const logged lines;
        CHECK_FALSE(read_key_pair(files).ocsp.empty());
        CHECK(lines.text().empty());
    }
    for (const char* const wrong : {"by_stranger.ocsp", "by_sibling.ocsp"}) {
        CAPTURE(wrong);
        const logged lines;
        CHECK(read_key_pair(chain_and(wrong)).ocsp.empty());
        CHECK_THAT(lines.text(), ContainsSubstring(made(wrong) + ": not signed by the issuer of " +
                                                   made("chain.pem") + ", nor for it"));
    }
    const logged lines;
    CHECK(read_key_pair(chain_and("same_name.ocsp")).ocsp.empty());
    CHECK_THAT(lines.text(), ContainsSubstring("says nothing of the certificate"));
}

TEST_CASE("a response that is not good is stapled, and told of") {
    for (const char* const name : {"revoked", "unknown"}) {
        const std::string file = std::string(name) + ".ocsp";
        const logged lines;
        CHECK_FALSE(read_key_pair(chain_and(file)).ocsp.empty());
        CHECK_THAT(lines.text(), ContainsSubstring(made(file) + ": says that the certificate in " +
                                                   made("chain.pem") + " is " + name));
    }
}

TEST_CASE("a response without an end is fresh for a week") {
    const key_pair pair = read_key_pair(chain_and("no_end.ocsp"));
    CHECK_FALSE(pair.ocsp.empty());
    CHECK(pair.ocsp_until == pair.ocsp_from + 300 + 604'800); // of skew
}
