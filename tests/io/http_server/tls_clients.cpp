#include "tls_clients.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include <rota/errors.hpp>
#include <rota/io/connection.hpp>
#include <rota/io/listener.hpp>
#include <rota/io/tls/stream.hpp>
#include <rota/sleep.hpp>

#include "made_files.hpp"
#include "server_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;
using io::tls::test::made_pair;
using io::tls::test::sample_client;
using io::tls::test::sample_server;

router routes() {
    router all;
    all.get("/who", [](const request& r) {
        if (!r.secure())
            return response::text("in the open");
        const auto peer = r.tls()->peer_certificate();
        return response::text(std::string(r.tls()->server_name()) + ' ' +
                              (peer ? peer->subject : "nobody"));
    });
    all.get("/sleep", [](request&) -> task<response> {
        co_await sleep_for(200ms);
        co_return response::text("slept");
    });
    all.get("/late", [](request&) -> task<response> {
        co_await sleep_for(5ms);
        throw timed_out();
    });
    return all;
}

server_options by_tls() {
    server_options options;
    options.tls = sample_server();
    return options;
}

/// Asks over a connection of its own, and reads to the end; what was answered last.
task<std::string> ask(io::context* ctx, io::endpoint where, const io::tls::context* with,
                      std::string requests) {
    io::connection raw = co_await io::connect(*ctx, where);
    io::tls::stream tls(raw, *with, "a.test");
    co_await tls.handshake();
    co_await tls.write(requests);
    std::string all;
    while (const auto more = co_await tls.read())
        all += *more;
    co_return all;
}

std::string get_secured(const std::string& path, const std::string& more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: a.test\r\n" + more + "\r\n";
}

const std::string last = "Connection: close\r\n";

} // namespace

TEST_CASE("requests know that they came by TLS, for whom and by whom") {
    const layout how = each_layout();
    CAPTURE(how);
    io::context ctx(two_workers(how));
    server_options options = by_tls();
    options.tls.client_ca = io::tls::test::made("ca.pem");
    const running s(ctx, routes(), std::move(options));
    io::tls::client_options client = sample_client();
    client.certificate = made_pair("ann");
    const io::tls::context with(client);
    const std::string answer = ctx.block_on(
        ask(&ctx, s.address(), &with, get_secured("/who") + get_secured("/who", last)));
    CHECK(answer.ends_with("\r\n\r\na.test O=people,CN=ann"));
    CHECK(answer.find("\r\n\r\na.test O=people,CN=annHTTP/1.1 200 OK") != std::string::npos);
}

TEST_CASE("one that has ended its sending is told of what went wrong, by TLS") {
    std::atomic<int> errors{0};
    io::context ctx(two_workers());
    server_options options = by_tls();
    options.hooks.on_error = [&errors](std::string_view) { ++errors; };
    running s(ctx, routes(), std::move(options));
    constexpr auto ask_and_end = [](io::context* on, io::endpoint where,
                                    const io::tls::context* with) -> task<std::string> {
        io::connection raw = co_await io::connect(*on, where);
        io::tls::stream tls(raw, *with, "a.test");
        co_await tls.handshake();
        co_await tls.write(get_secured("/late"));
        tls.shutdown_write();
        std::string all;
        while (const auto more = co_await tls.read())
            all += *more;
        co_return all;
    };
    const io::tls::context with(sample_client());
    CHECK(ctx.block_on(ask_and_end(&ctx, s.address(), &with)).starts_with("HTTP/1.1 500 "));
    CHECK(errors == 1);
}

TEST_CASE("handshakes are counted by how they have ended") {
    io::context ctx(two_workers());
    running s(ctx, routes(), by_tls());
    const io::tls::context trusting(sample_client());
    (void)ctx.block_on(ask(&ctx, s.address(), &trusting, get_secured("/who", last)));
    const client astray(s.address());
    astray.send(get_secured("/who"));
    CHECK(astray.read_all().starts_with("HTTP/1.1 400 Bad Request\r\n"));
    for (const std::string_view first : {"\x16\x03\x01", "\x16"}) {
        const client half_way(s.address());
        half_way.send(first);
        half_way.finish();
        (void)half_way.read_all();
    }
    const std::array<std::uint64_t, 4> counted = (*s).metrics().handshakes;
    CHECK(counted == std::array<std::uint64_t, 4>{1, 0, 1, 2});
}

TEST_CASE("one that sends empty lines has no more time than one that is silent") {
    io::context ctx(two_workers());
    server_options options = by_tls();
    options.handshake_timeout = 200ms;
    options.limits.linger_timeout = 20s;
    running s(ctx, routes(), std::move(options));
    for (const std::string_view first : {"\r\n", "GET", ""}) {
        CAPTURE(first);
        const client astray(s.address());
        astray.be_patient(5s);
        astray.send(first);
        CHECK(astray.read_all().ends_with("<end>"));
    }
}

TEST_CASE("in clear and by TLS beside each other") {
    io::context ctx(two_workers());
    server_options options = by_tls();
    options.listen = {io::endpoint::ip("127.0.0.1", 0)};
    options.listen_tls = {io::endpoint::ip("127.0.0.1", 0)};
    server s(ctx, routes(), std::move(options));
    const std::jthread thread([&] { ctx.block_on(s.run()); });
    const auto where = s.listening();
    REQUIRE(where.size() == 2);
    const client plain(where[0]);
    plain.send(get_secured("/who", last));
    CHECK(plain.read_all().ends_with("\r\n\r\nin the open<end>"));
    const client astray(where[1]);
    astray.send(get_secured("/who"));
    CHECK(astray.read_all().starts_with("HTTP/1.1 400 Bad Request\r\n"));
    const io::tls::context with(sample_client());
    CHECK(ctx.block_on(ask(&ctx, where[1], &with, get_secured("/who", last)))
              .ends_with("a.test nobody"));
    s.drain();
}

TEST_CASE("a drain ends clients that are silent, half-way or idle, and answers requests") {
    const layout how = each_layout();
    CAPTURE(how);
    io::context ctx(two_workers(how));
    server_options options = by_tls();
    options.limits.rest_after = 20ms;
    options.drain_timeout = 500ms;
    running s(ctx, routes(), std::move(options));
    const io::tls::context with(sample_client());
    const client silent(s.address());
    const client half_way(s.address());
    half_way.send("\x16\x03\x01");
    const auto idle = ctx.workers().spawn(
        [](io::context* on, io::endpoint where, const io::tls::context* how_to) -> task<void> {
            const std::string answer = co_await ask(on, where, how_to, get_secured("/who"));
            if (!answer.ends_with("nobody"))
                throw std::logic_error("no answer");
        }(&ctx, s.address(), &with),
        {.name = "idle"});
    while ((*s).metrics().requests == 0)
        std::this_thread::yield();
    const auto busy = ctx.workers().spawn(
        [](io::context* on, io::endpoint where, const io::tls::context* how_to) -> task<void> {
            const std::string answer = co_await ask(on, where, how_to, get_secured("/sleep"));
            if (!answer.ends_with("slept"))
                throw std::logic_error("no answer");
        }(&ctx, s.address(), &with),
        {.name = "busy"});
    while ((*s).metrics().requests_in_flight == 0 && (*s).metrics().requests < 2)
        std::this_thread::yield();
    s.drain_and_join();
    CHECK(silent.read_all() == "<end>");
    (void)half_way.read_all();
    for (const auto& each : {idle, busy}) {
        each->wait_stopped();
        CHECK_FALSE(each->error());
    }
}

TEST_CASE("files that cannot be used are named, and certificates read again") {
    io::context ctx(two_workers());
    server_options options = by_tls();
    options.tls.certificates[0].key = "/no/such/key";
    options.listen = {io::endpoint::ip("127.0.0.1", 0)};
    CHECK_THROWS_AS(server(ctx, routes(), std::move(options)), std::runtime_error);
    server_options no_certificate;
    no_certificate.listen_tls = {io::endpoint::ip("127.0.0.1", 0)};
    CHECK_THROWS_AS(server(ctx, routes(), std::move(no_certificate)), std::invalid_argument);
    server_options only_client_ca; // nobody means that in clear
    only_client_ca.tls.client_ca = "ca.pem";
    CHECK_THROWS_AS(server(ctx, routes(), std::move(only_client_ca)), std::invalid_argument);
    server_options no_time; // in clear, too
    no_time.listen = {io::endpoint::ip("127.0.0.1", 0)};
    no_time.handshake_timeout = -1s;
    CHECK_THROWS_AS(server(ctx, routes(), std::move(no_time)), std::invalid_argument);
    server_options nowhere;
    nowhere.listen = {io::endpoint()};
    CHECK_THROWS_AS(server(ctx, routes(), std::move(nowhere)), std::invalid_argument);
    running s(ctx, routes(), by_tls());
    (*s).reload_certificates();
    const io::tls::context with(sample_client());
    CHECK(
        ctx.block_on(ask(&ctx, s.address(), &with, get_secured("/who", last))).ends_with("nobody"));
}

} // namespace rota::http
