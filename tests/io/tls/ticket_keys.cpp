#include "ticket_keys.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "made_files.hpp"

using namespace std::chrono_literals;
using namespace rota::io::tls;
using rota::io::tls::test::written;

namespace {

struct sealed {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 16> iv{};
};

struct contexts {
    std::unique_ptr<EVP_CIPHER_CTX, freed_by<&EVP_CIPHER_CTX_free>> cipher{EVP_CIPHER_CTX_new()};
    std::unique_ptr<EVP_MAC, freed_by<&EVP_MAC_free>> mac{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
    std::unique_ptr<EVP_MAC_CTX, freed_by<&EVP_MAC_CTX_free>> mac_context{
        EVP_MAC_CTX_new(mac.get())};
};

sealed seal(ticket_keys& keys) {
    const contexts c;
    sealed ticket;
    REQUIRE(keys.prepare(ticket.name.data(), ticket.iv.data(), c.cipher.get(), c.mac_context.get(),
                         true) == 1);
    return ticket;
}

int open(ticket_keys& keys, sealed ticket) {
    const contexts c;
    return keys.prepare(ticket.name.data(), ticket.iv.data(), c.cipher.get(), c.mac_context.get(),
                        false);
}

std::string key(char fill) { return std::string(80, fill); }

} // namespace

TEST_CASE("own keys change every hour, and open for as long as a ticket is good") {
    std::chrono::steady_clock::time_point now{};
    ticket_keys keys([&] { return now; });
    const sealed first = seal(keys);
    CHECK(open(keys, first) == 1);
    now += 59min;
    const sealed late = seal(keys);
    CHECK(late.name == first.name);
    now += 2min;
    const sealed second = seal(keys);
    CHECK(second.name != first.name);
    CHECK(open(keys, late) == 2); // and is to be renewed
    CHECK(open(keys, second) == 1);
    now += 70min;
    CHECK(seal(keys).name != second.name);
    CHECK(open(keys, late) == 0);
    CHECK(open(keys, second) == 2);
}

TEST_CASE("keys of a file: the first seals, all open, until it is read again") {
    ticket_keys keys;
    keys.load(written("keys", key('a') + key('b')));
    const sealed by_a = seal(keys);
    CHECK(by_a.name[0] == 'a');
    keys.load(written("keys", key('c') + key('a')));
    CHECK(seal(keys).name[0] == 'c');
    CHECK(open(keys, by_a) == 2);
    keys.load(written("keys", key('c')));
    CHECK(open(keys, by_a) == 0);
    CHECK_THROWS_AS(keys.load(written("keys", key('c') + "x")), std::runtime_error);
    CHECK_THROWS_AS(keys.load(written("keys", "")), std::runtime_error);
    CHECK(seal(keys).name[0] == 'c');
    keys.load("");
    CHECK(seal(keys).name[0] != 'c');
}
