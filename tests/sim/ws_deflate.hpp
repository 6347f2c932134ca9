#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <rota/coding/decoder.hpp>
#include <rota/coding/encoder.hpp>

namespace sim {

/// A client's end of permessage-deflate (RFC 7692), as the server's answer to its offer has it.
class ws_deflate {
public:
    /// `answered`: Sec-WebSocket-Extensions of the answer; without one nothing is compressed.
    explicit ws_deflate(std::string_view answered);

    [[nodiscard]] bool is_on() const noexcept { return on_; }
    /// The payload of a message, which may refer to those before if that was agreed on.
    [[nodiscard]] std::string pack(std::string_view message);
    /// What a payload of the server's comes to; what it must not be fails the run.
    [[nodiscard]] std::string unpack(std::string_view payload);

private:
    bool on_ = false;
    bool server_keeps_ = true;
    bool client_keeps_ = true;
    std::unique_ptr<rota::coding::encoder> encoder_;
    std::unique_ptr<rota::coding::decoder> decoder_;
};

/// What a client may offer; or nothing.
std::string draw_deflate_offer();

} // namespace sim
