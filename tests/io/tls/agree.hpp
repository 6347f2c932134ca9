#pragma once

#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>

#include "record_engine.hpp"

namespace rota::io::tls::test {

inline void step_of_handshake(record_engine& tls, std::string& from, std::string& to) {
    std::string_view in = from;
    (void)tls.handshake(in, to);
    from.erase(0, from.size() - in.size());
}

/// Both have what the other has sent: tickets, too.
inline void agree(record_engine& server, record_engine& client, std::string to_server = {},
                  std::string to_client = {}) {
    while (!server.complete() || !client.complete()) {
        if (!client.complete())
            step_of_handshake(client, to_client, to_server);
        if (!server.complete())
            step_of_handshake(server, to_server, to_client);
        REQUIRE(server.text() + client.text() == "");
    }
    std::string_view in = to_client;
    std::string text;
    std::string out;
    (void)client.read(in, text, out);
}

} // namespace rota::io::tls::test
