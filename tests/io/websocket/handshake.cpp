#include "handshake.hpp"

#include <stdexcept>

#include <catch2/catch_test_macros.hpp>
#include <rota/coding/format.hpp>

#include "peer.hpp"

namespace rota::http {
namespace {

task<void> nothing(websocket ws) { (void)co_await ws.read(); }

router routes() {
    websocket_options options;
    options.subprotocols = {"chat.v2", "chat"};
    options.allowed_origins = {"https://app.example.org"};
    websocket_options open;
    open.allowed_origins = {"*"};
    router made;
    made.get("/", serve_websockets(nothing, options)).get("/open", serve_websockets(nothing, open));
    return made;
}

/// The answer's head, with the status first.
std::string answer_to(const io::endpoint& server, std::string_view request) {
    const client one(server);
    one.send(request);
    one.finish();
    return one.read_all().substr(9);
}

TEST_CASE("the example of RFC 6455 section 1.3") {
    CHECK(ws::accept_of("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST_CASE("handshakes") {
    io::context ctx(two_workers());
    running s(ctx, routes());
    const auto status = [&](std::string_view path, std::string_view more) {
        return answer_to(s.address(), handshake(path, more)).substr(0, 3);
    };
    const std::string whole = answer_to(s.address(), handshake("/"));
    CHECK(whole.starts_with("101 Switching Protocols\r\n"));
    CHECK(whole.contains("Upgrade: websocket\r\n"));
    CHECK(whole.contains("Connection: Upgrade\r\n"));
    CHECK(whole.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    CHECK(!whole.contains("Sec-WebSocket-Protocol"));
    CHECK(!whole.contains("Sec-WebSocket-Extensions"));

    CHECK(status("/", "Origin: http://here\r\n") == "101");
    CHECK(status("/", "Origin: https://app.example.org\r\n") == "101");
    CHECK(status("/", "Origin: HTTPS://App.Example.org\r\n") == "101");
    CHECK(status("/", "Origin: http://app.example.org\r\n") == "403");
    CHECK(status("/", "Origin: http://here:81\r\n") == "403");
    CHECK(status("/", "Origin: null\r\n") == "403");
    CHECK(status("/", "Origin: http://here\r\nOrigin: http://there\r\n") == "403");
    CHECK(status("/open", "Origin: http://there\r\n") == "101");
    CHECK(status("/open", "Origin: null\r\n") == "101");

    const auto chosen = [&](std::string_view more) {
        const std::string head = answer_to(s.address(), handshake("/", more));
        const std::size_t at = head.find("Sec-WebSocket-Protocol: ");
        return at == std::string::npos ? "" : head.substr(at + 24, head.find('\r', at) - at - 24);
    };
    CHECK(chosen("Sec-WebSocket-Protocol: chat\r\n") == "chat");
    CHECK(chosen("Sec-WebSocket-Protocol: chat, chat.v2\r\n") == "chat.v2");
    CHECK(chosen("Sec-WebSocket-Protocol: x\r\nSec-WebSocket-Protocol: y , chat\r\n") == "chat");
    CHECK(chosen("Sec-WebSocket-Protocol: CHAT, x\r\n").empty());

    CHECK(status("/", "Sec-WebSocket-Extensions: permessage-deflate; ;\r\n") == "400");
    for (const std::string_view none : {"", " , ,"}) {
        CHECK(status("/", "Sec-WebSocket-Extensions:" + std::string(none) + "\r\n") == "400");
        CHECK(status("/", "Sec-WebSocket-Protocol:" + std::string(none) + "\r\n") == "400");
    }
    for (const std::string_view odd : {"chat v2", "a b, chat", "(x), chat", "\"chat\"", "chat;v=2"})
        CHECK(status("/", "Sec-WebSocket-Protocol: " + std::string(odd) + "\r\n") == "400");
    CHECK(status("/", "Sec-WebSocket-Protocol: , chat,,\r\n") == "101");
    const std::string head = answer_to(
        s.address(), handshake("/", "Sec-WebSocket-Extensions: x, permessage-deflate\r\n"));
    CHECK(head.contains("Sec-WebSocket-Extensions: permessage-deflate\r\n") ==
          coding::is_available(coding::format::deflate));
}

struct refused {
    std::string_view what;
    std::string_view instead; // a line of the handshake without it
    std::string_view status;
};

TEST_CASE("handshakes that are none") {
    io::context ctx(two_workers());
    running s(ctx, routes());
    constexpr refused table[] = {
        {"Upgrade: websocket\r\n", "", "426"},
        {"Upgrade: websocket\r\n", "Upgrade: h2c\r\n", "426"},
        {"Connection: Upgrade\r\n", "", "426"},
        {"Connection: Upgrade\r\n", "Connection: keep-alive\r\n", "426"},
        {"Upgrade: websocket\r\n", "Upgrade: WebSocket\r\n", "101"},
        {"Connection: Upgrade\r\n", "Connection: keep-alive, upgrade\r\n", "101"},
        {"Sec-WebSocket-Version: 13\r\n", "", "400"},
        {"Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Version: 8\r\n", "426"},
        {"Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Version: 013\r\n", "426"},
        {"Sec-WebSocket-Version: 13\r\n", "Sec-WebSocket-Version: 13, 8\r\n", "426"},
        {"Sec-WebSocket-Version: 13\r\n",
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: b, a, b\r\n", "400"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "", "400"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=", "400"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ", "400"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j", "400"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: x", "400"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZ*==", "400"},
        {"dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQAA", "400"},
        {"HTTP/1.1", "HTTP/1.0", "426"},
        {"GET", "HEAD", "426"},
    };
    for (const refused& each : table) {
        std::string request = handshake("/");
        request.replace(request.find(each.what), each.what.size(), each.instead);
        const std::string answer = answer_to(s.address(), request);
        CAPTURE(request, answer);
        CHECK(answer.substr(0, 3) == each.status);
        if (each.status == "400" || each.status == "426")
            CHECK(answer.contains("Sec-WebSocket-Version: 13\r\n"));
        if (each.status == "426")
            CHECK(answer.contains("Upgrade: websocket\r\n"));
    }
}

TEST_CASE("options out of range") {
    const auto with = [](auto change) {
        websocket_options options;
        change(options);
        return websocket_endpoint(options);
    };
    CHECK_THROWS_AS(with([](auto& o) { o.subprotocols = {"a b"}; }), std::invalid_argument);
    CHECK_THROWS_AS(with([](auto& o) { o.allowed_origins = {"https://app.example.org/"}; }),
                    std::invalid_argument);
    CHECK_THROWS_AS(with([](auto& o) { o.allowed_origins = {"app.example.org"}; }),
                    std::invalid_argument);
    CHECK_NOTHROW(with([](auto& o) { o.allowed_origins = {"https://app.example.org:8443", "*"}; }));
    CHECK_THROWS_AS(with([](auto& o) { o.deflate->server_window_bits = 7; }),
                    std::invalid_argument);
    CHECK_THROWS_AS(with([](auto& o) { o.deflate->client_window_bits = 16; }),
                    std::invalid_argument);
    CHECK_THROWS_AS(with([](auto& o) { o.close_within = std::chrono::milliseconds(-1); }),
                    std::invalid_argument);
    CHECK_THROWS_AS(serve_websockets({}), std::invalid_argument);
}

} // namespace
} // namespace rota::http
