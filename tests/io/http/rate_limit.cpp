#include <rota/http/rate_limit.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include <rota/http/detail/request_access.hpp>

#include "answered.hpp"

namespace rota::http {

/// With a secret that is known, so that what goes wrong for one goes wrong each time.
struct seeded_buckets {
    static token_buckets make(std::size_t keys_max, std::uint64_t seed) {
        return {1, 2, keys_max, seed};
    }
};

namespace {

using namespace std::chrono_literals;

const token_buckets::time_point begin{std::chrono::hours(1'000)};

int taken(token_buckets& from, std::string_view key, token_buckets::time_point now, int tries) {
    int count = 0;
    for (int i = 0; i < tries; ++i)
        count += from.take(key, now).allowed ? 1 : 0;
    return count;
}

} // namespace

TEST_CASE("a burst at once, then as many as come back") {
    token_buckets buckets(10, 5, 100);
    CHECK(taken(buckets, "a", begin, 20) == 5);
    CHECK(taken(buckets, "b", begin, 20) == 5); // its own
    CHECK(buckets.take("a", begin).wait == 100ms);
    CHECK(taken(buckets, "a", begin + 99ms, 5) == 0);
    CHECK(taken(buckets, "a", begin + 100ms, 5) == 1);
    CHECK(taken(buckets, "a", begin + 350ms, 5) == 2);
    CHECK(taken(buckets, "a", begin + 1h, 20) == 5); // never more than a bucket
}

TEST_CASE("coming under many names brings no more than the table has room for") {
    token_buckets buckets(1, 10, 64);
    int all = 0;
    for (int i = 0; i < 20'000; ++i)
        all += buckets.take("name" + std::to_string(i), begin).allowed ? 1 : 0;
    CHECK(all <= 2 * 64 * 10);
    // Nor is what one has used forgotten for it.
    token_buckets one(1, 10, 64);
    CHECK(taken(one, "a", begin, 20) == 10);
    for (int i = 0; i < 2'000; ++i)
        one.take("name" + std::to_string(i), begin);
    CHECK(taken(one, "a", begin, 20) == 0);
}

TEST_CASE("as many keys as are asked for have buckets of their own") {
    for (const std::size_t keys : {8U, 64U, 100U, 1'000U, 5'000U, 65'536U}) {
        CAPTURE(keys);
        token_buckets buckets(1, 2, keys);
        std::size_t refused = 0;
        for (int round = 0; round < 2; ++round) {
            for (std::size_t i = 0; i < keys; ++i)
                refused += buckets.take("client" + std::to_string(i), begin).allowed ? 0 : 1;
        }
        CHECK(refused == 0);
        // Those whose buckets are full again are in nobody's way.
        for (std::size_t i = 0; i < keys; ++i)
            refused += buckets.take("other" + std::to_string(i), begin + 2s).allowed ? 0 : 1;
        CHECK(refused == 0);
    }
    for (const std::size_t none :
         {std::size_t{0}, token_buckets::keys_max_max + 1, std::numeric_limits<std::size_t>::max()})
        CHECK_THROWS_AS(token_buckets(1, 1, none), std::invalid_argument);
}

TEST_CASE("keys that differ by little have buckets of their own, whatever the secret is") {
    const auto network = [](std::size_t i) { // as those of IPv6 are told
        std::string key("\6\x20\x01\x0d\xb8", 5);
        for (const unsigned shift : {24U, 16U, 8U, 0U})
            key += static_cast<char>(i >> shift & 0xff);
        return key;
    };
    const auto numbered = [](std::size_t i) { return "k7-" + std::to_string(i); };
    std::vector<std::uint64_t> seeds{0, 1, ~std::uint64_t{0}, 0xd1a16c077908af9b,
                                     0xb807ea329d8d1629};
    std::mt19937_64 more(7);
    while (seeds.size() < 100)
        seeds.push_back(more());
    constexpr std::size_t keys = 1'024;
    for (const std::uint64_t seed : seeds) {
        CAPTURE(seed);
        auto of_networks = seeded_buckets::make(keys, seed);
        auto of_numbers = seeded_buckets::make(keys, seed);
        std::size_t refused = 0;
        for (std::size_t i = 0; i < 2 * keys; ++i) {
            refused += of_networks.take(network(i % keys), begin).allowed ? 0 : 1;
            refused += of_numbers.take(numbered(i % keys), begin).allowed ? 0 : 1;
        }
        CHECK(refused == 0);
    }
}

TEST_CASE("a burst is what it says, however short the time of a token") {
    token_buckets buckets(3e8, 10, 1);
    CHECK(taken(buckets, "a", begin, 20) == 10);
}

TEST_CASE("rates that are none") {
    for (const auto& [rate, burst] :
         {std::pair(0.0, 1.0), std::pair(-1.0, 1.0), std::pair(1.0, 0.5), std::pair(1.0, -1.0),
          std::pair(std::numeric_limits<double>::infinity(), 1.0),
          std::pair(std::numeric_limits<double>::quiet_NaN(), 1.0)})
        CHECK_THROWS_AS(token_buckets(rate, burst, 10), std::invalid_argument);
    // Nor is a bucket made smaller, or filled sooner, than was asked for.
    for (const auto& [rate, burst] :
         {std::pair(0.001, 200'000.0), std::pair(1e-9, 1.0), std::pair(1e-12, 1.0),
          std::pair(1e12, 1e18), std::pair(std::numeric_limits<double>::denorm_min(), 1.0),
          std::pair(1e300, std::numeric_limits<double>::max())})
        CHECK_THROWS_WITH(token_buckets(rate, burst, 10),
                          "a bucket has to be full again within 100,000,000 s");
    token_buckets slow(0.001, 100'000, 1);
    CHECK(taken(slow, "a", begin, 200'000) == 100'000);
    token_buckets fast(1e12, 1e6, 1);
    CHECK(taken(fast, "a", begin, 5) == 5);
}

TEST_CASE("requests beyond the rate are told when to come again") {
    router routes;
    routes.use(rate_limit({.per_second = 0.1, .burst = 2}));
    routes.get("/", [] { return response::text("x"); });
    test::session_driver s(std::move(routes));
    CHECK(test::ask(s, "GET /").status() == "200");
    CHECK(test::ask(s, "GET /none").status() == "404");
    const auto refused = test::ask(s, "GET /");
    CHECK(refused.status() == "429");
    CHECK(refused.field("Retry-After") == "10");
    CHECK(refused.field("Connection") == "-"); // it is served on
}

TEST_CASE("an address is no network that has the same bytes") {
    router routes;
    routes.use([](request& r, next proceed) {
        request_access::facts(r).peer = std::string(r.header("X-Peer").value_or(""));
        return proceed(r);
    });
    routes.use(rate_limit({.per_second = 0.1, .burst = 1}));
    routes.get("/", [] { return response::text("x"); });
    test::session_driver s(std::move(routes));
    CHECK(test::ask(s, "GET /", "X-Peer: 10.0.0.1:1\r\n").status() == "200");
    CHECK(test::ask(s, "GET /", "X-Peer: [3130:2e30:2e30:2e31::1]:1\r\n").status() == "200");
    CHECK(test::ask(s, "GET /", "X-Peer: [3130:2e30:2e30:2e31:2::]:1\r\n").status() == "429");
    CHECK(test::ask(s, "GET /", "X-Peer: 10.0.0.1:2\r\n").status() == "429");
}

TEST_CASE("whose requests count together can be said") {
    router routes;
    routes.use(rate_limit({.per_second = 0.1, .burst = 1, .key = [](const request& r) {
                               return std::string(r.header("X-Key").value_or(""));
                           }}));
    routes.get("/", [] { return response::text("x"); });
    test::session_driver s(std::move(routes));
    CHECK(test::ask(s, "GET /", "X-Key: a\r\n").status() == "200");
    CHECK(test::ask(s, "GET /", "X-Key: b\r\n").status() == "200");
    CHECK(test::ask(s, "GET /", "X-Key: a\r\n").status() == "429");
}

} // namespace rota::http
