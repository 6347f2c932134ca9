#include "record_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "agree.hpp"
#include "certificate.hpp"
#include "io/logged.hpp"
#include "made_files.hpp"

using namespace rota::io::tls;
using namespace rota::io::tls::test;
using outcome = record_engine::outcome;

namespace {

struct pair {
    ticket_keys tickets;
    std::shared_ptr<const snapshot> server_side =
        std::make_shared<const snapshot>(sample_server(), tickets);
    record_engine server{server_side};
    record_engine client{std::make_shared<const snapshot>(sample_client()), "b.test"};

    std::string to_server;
    std::string to_client;
    void agree() { test::agree(server, client, to_server, to_client); }
};

std::string record(int type, std::string_view of) {
    std::string bytes{static_cast<char>(type), 3, 3, 0, static_cast<char>(of.size())};
    return bytes.append(of);
}

std::string repeated(const std::string& bytes, int times) {
    std::string all;
    for (int i = 0; i < times; ++i)
        all += bytes;
    return all;
}

/// What a peer may say in clear at any time.
std::vector<std::string> interruptions() {
    using namespace std::string_view_literals;
    std::vector<std::string> all;
    for (const int level : {1, 2}) {
        for (int description = 0; description < 256; ++description) {
            const std::string alert{static_cast<char>(level), static_cast<char>(description)};
            all.push_back(repeated(record(21, alert), 8));
        }
    }
    const std::string end = record(21, "\1\0"sv);
    all.push_back(end);
    all.push_back(end + repeated(record(22, "\0\0\0\0"sv), 8));
    all.push_back(repeated(end + record(22, "\1"sv), 8));
    for (const std::string_view alert :
         {""sv, "\1"sv, "\0\0"sv, "\3\0"sv, "\1\0\1\0"sv, "\1\x5a"sv})
        all.push_back(repeated(record(21, alert), 100));
    for (const int type : {20, 21, 22, 23, 24}) {
        for (const std::string_view body : {""sv, "\0"sv, "\1"sv, "\0\0\0\0"sv, "\1\0\0\0"sv})
            all.push_back(repeated(record(type, body), 100));
    }
    return all;
}

/// Gives an engine all of it, as a stream does; how it has ended.
outcome take_all(record_engine& tls, std::string_view in) {
    outcome how = outcome::need_record;
    std::string text;
    std::string out;
    std::size_t steps = in.size() / 5 + 8;
    while (how != outcome::failed && !tls.complete() && whole_record(in) != 0) {
        REQUIRE(--steps != 0);
        how = tls.handshake(in, out);
    }
    while (tls.complete() && how != outcome::failed && how != outcome::ended) {
        REQUIRE(--steps != 0);
        const std::size_t before = in.size();
        how = tls.read(in, text, out);
        if (in.size() == before)
            break;
    }
    return how;
}

} // namespace

TEST_CASE("a response is stapled from when on it holds") {
    const auto stapled = [](const std::string& response) {
        server_options options;
        options.certificates = {made_pair("a")};
        options.certificates.front().ocsp = response;
        ticket_keys tickets;
        record_engine server(std::make_shared<const snapshot>(options, tickets));
        record_engine client(std::make_shared<const snapshot>(sample_client()), "a.test");
        SSL_set_tlsext_status_type(const_cast<SSL*>(client.ssl()), TLSEXT_STATUSTYPE_ocsp);
        agree(server, client);
        const unsigned char* shown = nullptr;
        return SSL_get_tlsext_status_ocsp_resp(const_cast<SSL*>(client.ssl()), &shown) > 0;
    };
    CHECK(stapled(made("a.ocsp")));
    std::string later = read_file(made("a.ocsp"));
    const std::size_t this_update = later.find("\x18\x0f", later.find("\x18\x0f") + 2) + 2;
    CHECK_FALSE(stapled(written("later_on.ocsp", later.replace(this_update, 4, "2999"))));
}

TEST_CASE("a record is whole with its last byte") {
    using namespace std::string_view_literals;
    CHECK(whole_record("") == 0);
    CHECK(whole_record("\x17\x03\x03\x00"sv) == 0);
    CHECK(whole_record("\x17\x03\x03\x00\x02"sv) == 0);
    CHECK(whole_record("\x17\x03\x03\x00\x02"
                       "a"sv) == 0);
    CHECK(whole_record("\x17\x03\x03\x00\x02"
                       "abc"sv) == 7);
    CHECK(whole_record("\x17\x03\x03\x00\x00"sv) == 5);
    // What cannot be one is for OpenSSL to refuse.
    CHECK(whole_record("GET / HTTP/1.1"sv) == 14);
    CHECK(whole_record("\x17\x03\x03\xff\xff"sv) == 5);
}

TEST_CASE("two engines agree, and text takes as many bytes as was said at most") {
    pair both;
    CHECK(both.server.heavy());
    both.agree();
    CHECK_FALSE(both.server.heavy());
    for (const std::size_t size : {1, 16'384, 16'385, 70'000}) {
        std::string records;
        REQUIRE(both.client.write(std::string(size, 'x'), records));
        CHECK(records.size() <= both.client.bytes_max(size));
        std::string_view in = records;
        std::string text;
        std::string out;
        while (!in.empty())
            CHECK(both.server.read(in, text, out) == outcome::done);
        CHECK((text == std::string(size, 'x')));
        CHECK(out.empty());
    }
}

TEST_CASE("a step is heavy until the server has signed, however often it asks for another key") {
    for (const bool asks_again : {false, true}) {
        pair both;
        SSL* const client = const_cast<SSL*>(both.client.ssl());
        REQUIRE(SSL_set1_groups_list(client, asks_again ? "P-521:X25519" : "X25519") == 1);
        CHECK(both.client.heavy());
        for (int steps = asks_again ? 2 : 1; steps != 0; --steps) {
            CHECK(both.server.heavy());
            step_of_handshake(both.client, both.to_client, both.to_server);
            step_of_handshake(both.server, both.to_server, both.to_client);
        }
        CHECK_FALSE(both.server.complete());
        CHECK_FALSE(both.server.heavy());
        both.agree();
    }
}

TEST_CASE("the response that is stapled is about the certificate that is shown") {
    server_options options;
    options.certificates = {made_pair("a"), made_pair("a_rsa")};
    options.certificates[0].ocsp = made("a.ocsp");
    options.certificates[1].ocsp = made("a_rsa.ocsp");
    for (const bool first_only : {false, true}) {
        if (first_only)
            options.certificates[1].ocsp.clear();
        ticket_keys tickets;
        for (const bool rsa : {false, true}) {
            CAPTURE(first_only, rsa);
            record_engine server(std::make_shared<const snapshot>(options, tickets));
            record_engine client(std::make_shared<const snapshot>(sample_client()), "a.test");
            SSL* const ssl = const_cast<SSL*>(client.ssl());
            REQUIRE(SSL_set_tlsext_status_type(ssl, TLSEXT_STATUSTYPE_ocsp) == 1);
            REQUIRE(SSL_set1_sigalgs_list(ssl, rsa ? "RSA-PSS+SHA256" : "ECDSA+SHA256") == 1);
            agree(server, client);
            const unsigned char* response = nullptr;
            const long size = SSL_get_tlsext_status_ocsp_resp(ssl, &response);
            const std::string came(reinterpret_cast<const char*>(response),
                                   size > 0 ? static_cast<std::size_t>(size) : 0);
            if (rsa && first_only)
                CHECK(came.empty());
            else
                CHECK((came == read_file(made(rsa ? "a_rsa.ocsp" : "a.ocsp"))));
        }
    }
}

TEST_CASE("records that have no text keep nothing of the next") {
    pair both;
    both.agree();
    SSL* const client = const_cast<SSL*>(both.client.ssl()); // NOLINT: to do what clients may
    std::string records;
    for (int i = 0; i < 3; ++i) {
        REQUIRE(SSL_key_update(client, SSL_KEY_UPDATE_NOT_REQUESTED) == 1);
        REQUIRE(both.client.write(std::string(200, static_cast<char>('a' + i)), records));
    }
    std::string_view in = records;
    std::string text;
    std::string out;
    for (int i = 0; i < 3; ++i)
        CHECK(both.server.read(in, text, out) == outcome::done);
    CHECK(in.empty());
    CHECK(text == std::string(200, 'a') + std::string(200, 'b') + std::string(200, 'c'));
    CHECK(SSL_pending(both.server.ssl()) == 0);
}

TEST_CASE("records are as short as a client wants them, and their bytes are counted so") {
    for (const unsigned asked : {1U, 2U, 3U, 4U}) {
        pair both;
        SSL* const client = const_cast<SSL*>(both.client.ssl()); // NOLINT
        REQUIRE(SSL_set_tlsext_max_fragment_length(client, static_cast<std::uint8_t>(asked)) == 1);
        both.agree();
        for (const std::size_t size : {1, 511, 512, 513, 4'096, 16'384, 70'000}) {
            std::string records;
            REQUIRE(both.server.write(std::string(size, 'x'), records));
            CHECK(records.size() <= both.server.bytes_max(size));
            CHECK(whole_record(records) <= (256U << asked) + 64);
        }
    }
}

TEST_CASE("whatever comes in the midst of a handshake, it ends or waits for more") {
    ticket_keys tickets;
    const auto server_side = std::make_shared<const snapshot>(sample_server(), tickets);
    const auto client_side = std::make_shared<const snapshot>(sample_client());
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        for (const std::string& between : interruptions()) {
            CAPTURE(version, between.size(), int{between[0]}, int{between[5]});
            record_engine server(server_side);
            record_engine client(client_side, "b.test");
            SSL* const ssl = const_cast<SSL*>(client.ssl()); // NOLINT: to be of one version
            REQUIRE(SSL_set_max_proto_version(ssl, version) == 1);
            std::string hello;
            std::string_view none;
            REQUIRE(client.handshake(none, hello) == outcome::need_record);
            (void)take_all(server, hello + between);
            (void)take_all(client, between);
            const std::string wait = repeated(record(22, std::string_view("\0", 1)), 8);
            (void)take_all(server, wait);
            (void)take_all(client, wait);
        }
    }
}

TEST_CASE("close_notify in a handshake is a failure") {
    const std::string end = record(21, std::string_view("\1\0", 2));
    for (const int times : {1, 3}) {
        pair both;
        std::string hello;
        std::string_view none;
        REQUIRE(both.client.handshake(none, hello) == outcome::need_record);
        CHECK(take_all(both.server, hello + repeated(end, times)) == outcome::failed);
        CHECK(take_all(both.client, repeated(end, times)) == outcome::failed);
        CHECK(both.server.kind() == failure::kind::protocol);
        CHECK(both.server.text() == "the peer has broken off");
        CHECK(both.client.text() == "the peer has broken off");
    }
}

TEST_CASE("clients are told the names of a client CA once each, if they go into a handshake") {
    server_options options = sample_server();
    client_options how = sample_client();
    how.certificate = made_pair("ann");
    const auto client_side = std::make_shared<const snapshot>(how);
    const std::string ca = read_file(made("ca.pem"));
    const std::string one = read_file(made("long1.pem"));
    const std::string other = read_file(made("long2.pem"));
    const std::string third = read_file(made("long3.pem"));
    struct told {
        std::string file;
        int names;
    };
    for (const told& each : {told{ca + one + one + ca + one, 2}, told{ca + one + other, 3},
                             told{ca + one + other + third, 0}}) {
        options.client_ca = written("authorities", each.file);
        ticket_keys keys;
        const rota::io::test::logged lines;
        const auto server_side = std::make_shared<const snapshot>(options, keys);
        CHECK(lines.text().empty() == (each.names != 0));
        for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
            CAPTURE(version, each.names);
            record_engine server(server_side);
            record_engine client(client_side, "b.test");
            SSL* const ssl = const_cast<SSL*>(client.ssl()); // NOLINT
            REQUIRE(SSL_set_max_proto_version(ssl, version) == 1);
            agree(server, client);
            CHECK(std::max(sk_X509_NAME_num(SSL_get0_peer_CA_list(ssl)), 0) == each.names);
        }
    }
}

TEST_CASE("half a record is left alone") {
    pair both;
    both.agree();
    std::string records;
    REQUIRE(both.client.write("hello", records));
    std::string text;
    std::string out;
    std::string_view in(records.data(), records.size() - 1);
    CHECK(both.server.read(in, text, out) == outcome::need_record);
    CHECK(in.size() == records.size() - 1);
    in = records;
    CHECK(both.server.read(in, text, out) == outcome::done);
    CHECK(text == "hello");
}

TEST_CASE("what does not speak TLS is known by its first byte") {
    for (const std::string first :
         {"G", "GET / HTTP/1.1\r\n", "get", "\r\nGET / HTTP/1.1\r\n", "\n", "!GET", "1", "_"}) {
        pair both;
        std::string_view in = first;
        std::string out;
        CHECK(both.server.handshake(in, out) == outcome::failed);
        CHECK(both.server.kind() == failure::kind::plain_text);
        CHECK(out.empty());
    }
    for (const std::string first : {"\x80", "{", "\x17\x03\x03", "\x14\x03\x03", "\x18", "\x15"}) {
        pair both;
        std::string_view in = first;
        std::string out;
        CHECK(both.server.handshake(in, out) == outcome::failed);
        CHECK(both.server.kind() == failure::kind::protocol);
        CHECK(out == std::string("\x15\x03\x03\x00\x02\x02\x0a", 7)); // unexpected_message
    }
}

TEST_CASE("close_notify is the end; nothing is said before the handshake is over") {
    pair both;
    std::string last;
    both.client.close(last);
    CHECK(last.empty());
    both.agree();
    both.client.close(last);
    CHECK_FALSE(last.empty());
    std::string_view in = last;
    std::string text;
    std::string out;
    CHECK(both.server.read(in, text, out) == outcome::ended);
    CHECK(text.empty());
    CHECK(both.server.write("still", out));
}

TEST_CASE("new keys without end are refused, and a few are not") {
    pair both;
    both.agree();
    SSL* const client = const_cast<SSL*>(both.client.ssl()); // NOLINT: to do what clients may
    std::string text;
    std::string out;
    int asked = 0;
    outcome how = outcome::need_record;
    while (how == outcome::need_record && asked < 100) {
        REQUIRE(SSL_key_update(client, SSL_KEY_UPDATE_REQUESTED) == 1);
        std::string records;
        if (asked == 5) {
            REQUIRE(both.client.write("text", records));
        } else {
            std::string_view none;
            (void)both.client.handshake(none, records); // writes it
        }
        ++asked;
        std::string_view in = records;
        how = both.server.read(in, text, out);
        if (how == outcome::done)
            how = both.server.read(in, text, out);
    }
    CHECK(how == outcome::failed);
    CHECK(text == "text");
    CHECK(asked > 20);
    CHECK(asked < 80);
}

TEST_CASE("a first record of no version that there is gets an alert") {
    using namespace std::string_view_literals;
    for (const std::string_view begin : {"\x16\x04\x00"sv, "\x16\x02\x00"sv, "\x16\x00\x00"sv}) {
        pair ends;
        const std::string hello = std::string(begin).append("\0\5hello"sv);
        std::string_view in = hello;
        std::string out;
        CHECK(ends.server.handshake(in, out) == outcome::failed);
        CHECK(out == "\x15\x03\x03\x00\x02\x02\x46"sv); // protocol_version
        CHECK(ends.server.handshake(in, out) == outcome::failed);
        CHECK(out.size() == 7);
    }
}
