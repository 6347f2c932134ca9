#include "session_end.hpp"

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "agree.hpp"
#include "certificate.hpp"
#include "made_files.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;

namespace {

std::int64_t end_for(const std::vector<std::string>& names, std::int64_t now) {
    STACK_OF(X509)* const chain = sk_X509_new_null();
    std::vector<certificate_ptr> kept;
    for (const std::string& each : names) {
        kept.push_back(std::move(read_certificates(made(each + ".pem")).front()));
        sk_X509_push(chain, kept.back().get());
    }
    const std::int64_t end = session_end(chain, now);
    sk_X509_free(chain);
    return end;
}

/// One client of one server that comes again and again, each time with what it got the last time.
class resuming_client {
public:
    resuming_client(const server_options& server, const client_options& client, int version)
        : server_side_(std::make_shared<const snapshot>(server, keys_)),
          client_side_(std::make_shared<const snapshot>(client)), version_(version) {
        keys_.load({});
    }
    /// Connects; whether a session was resumed.
    bool resumes() {
        record_engine server(server_side_);
        record_engine client(client_side_, "b.test");
        SSL* const ssl = const_cast<SSL*>(client.ssl());        // NOLINT
        SSL* const of_server = const_cast<SSL*>(server.ssl());  // NOLINT
        X509_VERIFY_PARAM_set_flags(SSL_get0_param(of_server),  // what is over was
                                    X509_V_FLAG_NO_CHECK_TIME); // good at its time
        REQUIRE(SSL_set_max_proto_version(ssl, version_) == 1);
        if (session_ != nullptr)
            REQUIRE(SSL_set_session(ssl, session_.get()) == 1);
        agree(server, client);
        session_.reset(SSL_get1_session(ssl));
        end_ = kept_end(SSL_get_session(of_server)).value_or(0);
        std::string last;
        client.close(last); // or it counts as broken
        return SSL_session_reused(ssl) == 1;
    }
    /// Of the session, as the server sees it.
    [[nodiscard]] std::int64_t end() const { return end_; }

private:
    ticket_keys keys_;
    std::shared_ptr<const snapshot> server_side_;
    std::shared_ptr<const snapshot> client_side_;
    int version_;
    std::unique_ptr<SSL_SESSION, freed_by<&SSL_SESSION_free>> session_;
    std::int64_t end_ = 0;
};

} // namespace

TEST_CASE("a session ends after a day, or with the first certificate of its client's chain") {
    constexpr std::int64_t now = 978'300'000; // 2000-12-31 22:00:00 UTC
    CHECK(session_end(nullptr, now) == now + 86'400);
    CHECK(end_for({}, now) == now + 86'400);
    CHECK(end_for({"ann", "ca"}, now) == now + 86'400);
    CHECK(end_for({"ended", "ca"}, now) == 978'307'200); // 2001-01-01
    CHECK(end_for({"below_ended", "ended_ca", "ca"}, now) == 978'307'200);
    CHECK(end_for({"ended"}, now - 100'000) == now - 13'600);
}

TEST_CASE("a session keeps its end") {
    const std::unique_ptr<SSL_SESSION, freed_by<&SSL_SESSION_free>> session(SSL_SESSION_new());
    CHECK_FALSE(kept_end(session.get()).has_value());
    for (const std::int64_t end : {std::int64_t{0}, std::int64_t{0x1234'5678'9abc}}) {
        REQUIRE(keep_end(session.get(), end));
        CHECK(kept_end(session.get()) == end);
    }
    REQUIRE(SSL_SESSION_set1_ticket_appdata(session.get(), "other", 5) == 1);
    CHECK_FALSE(kept_end(session.get()).has_value());
}

TEST_CASE("a session is not resumed beyond a certificate of its client's chain") {
    server_options options = sample_server();
    options.client_ca = made("ca.pem");
    client_options how = sample_client();
    const certificate_files below_ended{made("below_ended.chain"), made("below_ended.key")};
    for (const certificate_files& shown : {made_pair("ann"), made_pair("ended"), below_ended}) {
        how.certificate = shown;
        const bool ended = shown.certificate != made("ann.pem");
        for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
            for (const bool tickets : {true, false}) {
                CAPTURE(version, tickets, shown.certificate);
                options.tickets = tickets;
                resuming_client client(options, how, version);
                CHECK_FALSE(client.resumes());
                CHECK(client.resumes() == (tickets && !ended));
            }
        }
    }
}

TEST_CASE("a session that is resumed again and again ends when the first was to end") {
    server_options options = sample_server();
    client_options how = sample_client();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        CAPTURE(version);
        options.client_ca.clear();
        how.certificate.reset();
        resuming_client of_nobody(options, how, version);
        const std::int64_t begin = std::time(nullptr);
        CHECK_FALSE(of_nobody.resumes());
        CHECK(of_nobody.end() >= begin + session_seconds_max);
        options.client_ca = made("ca.pem");
        how.certificate = made_pair("soon");
        resuming_client client(options, how, version);
        CHECK_FALSE(client.resumes());
        const std::int64_t end = client.end();
        CHECK(end < begin + session_seconds_max); // that of the certificate
        for (int i = 0; i < 3; ++i) {
            CHECK(client.resumes());
            CHECK(client.end() == end);
        }
    }
}
