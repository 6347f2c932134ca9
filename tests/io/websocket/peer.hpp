#pragma once

// A client of WebSocket for the tests: a handshake, and frames as they are.

#include <string>
#include <string_view>

#include "client_frames.hpp"
#include "server_driver.hpp"

namespace rota::http {

constexpr std::string_view handshake_fields =
    "Host: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

inline std::string handshake(std::string_view path, std::string_view more = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\n" + std::string(handshake_fields) +
           std::string(more) + "\r\n";
}

/// A client whose handshake is done.
class peer : public client {
public:
    explicit peer(const io::endpoint& to, std::string_view path = "/", std::string_view more = "")
        : client(to) {
        send(handshake(path, more));
        head = read_just_to("\r\n\r\n");
        REQUIRE(head.starts_with("HTTP/1.1 101 "));
    }
    /// What comes up to and with this.
    [[nodiscard]] bool gets(const std::string& bytes) const { return read_to(bytes) == bytes; }
    std::string head;
};

} // namespace rota::http
