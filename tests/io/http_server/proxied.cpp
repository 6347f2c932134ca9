#include "proxied.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <rota/sleep.hpp>

#include "server_driver.hpp"

namespace rota::http {
namespace {

using namespace std::chrono_literals;

router says_peer() {
    router routes;
    routes.get("/peer", [](const request& r) { return response::text(std::string(r.peer())); })
        .get("/slow", [](request& r) -> task<response> {
            co_await sleep_for(5ms);
            co_return response::text(std::string(r.peer()));
        });
    return routes;
}

server_options from_loopback() {
    server_options options;
    options.proxy_protocol = io::network_list({"127.0.0.0/8"});
    return options;
}

const std::string line = "PROXY TCP4 192.0.2.1 198.51.100.2 4711 80\r\n";
const std::string answered = "\r\n\r\n192.0.2.1:4711";

} // namespace

TEST_CASE("a proxy says whose connection it is") {
    const layout how = each_layout();
    CAPTURE(how);
    io::context ctx(two_workers(how));
    running s(ctx, says_peer(), from_loopback());
    const client c(s.address());
    c.send(line + get("/peer"));
    CHECK(c.read_to(answered).ends_with(answered));
    c.send(get("/slow")); // and of all that follows
    CHECK(c.read_to(answered).ends_with(answered));
    c.send(get("/peer", "Connection: close\r\n"));
    CHECK(c.read_all().ends_with(answered + "<end>"));
}

TEST_CASE("the header may come in any pieces, and in binary") {
    io::context ctx(two_workers());
    running s(ctx, says_peer(), from_loopback());
    std::string binary("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0f", 16);
    binary.append("\xc0\0\2\1\xc6\x33\x64\2\x12\x67\0\x50\4\0\0", 15);
    for (const std::string& header : {line, binary}) {
        const client c(s.address());
        for (const char each : header)
            c.send({&each, 1});
        c.send(get("/peer", "Connection: close\r\n"));
        CHECK(c.read_all().ends_with(answered + "<end>"));
    }
    const client own(s.address()); // a check of the proxy's: the peer is the socket's
    own.send("PROXY UNKNOWN\r\n" + get("/peer", "Connection: close\r\n"));
    CHECK(own.read_all().find("\r\n\r\n127.0.0.1:") != std::string::npos);
}

TEST_CASE("a connection of a proxy's without a header is told so, and closed") {
    io::context ctx(two_workers());
    server_options options = from_loopback();
    options.limits.header_timeout = 50ms;
    running s(ctx, says_peer(), std::move(options));
    const client plain(s.address());
    plain.send(get("/peer"));
    const std::string told = plain.read_all();
    CHECK(told.starts_with("HTTP/1.1 400 Bad Request\r\n"));
    CHECK(told.find("\r\nDate: ") != std::string::npos); // RFC 9110 section 6.6.1
    CHECK(told.ends_with("PROXY protocol.\n<end>"));
    const client head(s.address());
    head.send("HEAD /peer HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(head.read_all().ends_with("\r\n\r\n<end>"));
    for (const std::string_view begin : {"", "PROXY TCP4 ", "\r\n\r\n"}) {
        CAPTURE(begin);
        const client late(s.address());
        late.send(begin);
        CHECK(late.read_all() == "<end>");
    }
    const client broken(s.address());
    broken.send("\r\nGET / HTTP/1.1\r\n\r\n");
    CHECK(broken.read_all() == "<end>");
    const client finished(s.address());
    finished.send("PROXY ");
    finished.finish();
    CHECK(finished.read_all().ends_with("<end>"));
}

TEST_CASE("others are not believed, and served as they are") {
    io::context ctx(two_workers());
    server_options options;
    options.proxy_protocol = io::network_list({"192.0.2.0/24"});
    running s(ctx, says_peer(), std::move(options));
    const client plain(s.address());
    plain.send(get("/peer", "Connection: close\r\n"));
    CHECK(plain.read_all().find("\r\n\r\n127.0.0.1:") != std::string::npos);
    const client liar(s.address());
    liar.send(line + get("/peer"));
    CHECK(liar.read_all().starts_with("HTTP/1.1 400 Bad Request\r\n"));
}

TEST_CASE("a request for https comes in clear from trusted gateways only, over HTTP/1.1") {
    const layout how = each_layout();
    CAPTURE(how);
    const std::string secured =
        "GET https://localhost/peer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    const auto answer = [&](const char* network, bool after_another) {
        io::context ctx(two_workers(how));
        server_options options;
        options.trusted_gateways = io::network_list({network});
        running s(ctx, says_peer(), std::move(options));
        const client c(s.address());
        if (after_another) {
            c.send(get("/peer") + get("/slow"));
            (void)c.read_just_to("HTTP/1.1 200 ");
        }
        c.send(secured);
        const std::string all = c.read_all();
        return all.substr(all.rfind("HTTP/1.1 "));
    };
    for (const bool after_another : {false, true}) {
        CHECK(answer("127.0.0.0/8", after_another).starts_with("HTTP/1.1 200 "));
        CHECK(answer("192.0.2.0/24", after_another).starts_with("HTTP/1.1 421 "));
    }
}

TEST_CASE("a drain does not wait for the header of a silent proxy") {
    io::context ctx(two_workers());
    server_options options = from_loopback();
    options.limits.header_timeout = 60s;
    options.limits.linger_timeout = 1h;
    options.drain_timeout = 1h;
    running s(ctx, says_peer(), std::move(options));
    const client silent(s.address());
    const client refused(s.address());
    refused.send(get("/peer"));
    CHECK(refused.read_to("PROXY protocol.\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
    const client served(s.address());
    served.send(line + get("/peer"));
    CHECK(served.read_to(answered).ends_with(answered));
    while ((*s).connections() < 3)
        std::this_thread::yield();
    s.drain_and_join();
    CHECK(silent.read_all() == "<end>");
    CHECK(served.read_all() == "<end>");
}

} // namespace rota::http
