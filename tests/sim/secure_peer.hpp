#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "peer.hpp"

#include "record_engine.hpp"

namespace sim {

/// A client's end of a connection over which TLS is spoken: what it sends and reads is the text.
class secure_peer final : public peer {
public:
    secure_peer(std::uint16_t to, std::shared_ptr<const rota::io::tls::snapshot> with,
                const std::string& host)
        : peer(to), engine_(std::move(with), host) {}

    /// Whether it is complete: else the connection has ended, or the certificate is not right.
    [[nodiscard]] bool shake_hands();

    /// Says hello, and then something else, again and again; what becomes of the connection.
    event interrupt(random& r);

    void send(std::string_view text) override;
    /// Says close_notify, and perhaps ends its side of the connection, too.
    void half_close() override;
    /// An end that the server has not said by close_notify counts as a reset.
    event wait(time_point until = never) override;
    [[nodiscard]] std::string read(std::size_t max = std::string::npos) override;

private:
    using outcome = rota::io::tls::record_engine::outcome;

    /// More bytes; nothing if they have come.
    std::optional<event> take_more(time_point until);

    rota::io::tls::record_engine engine_;
    std::string arrived_; // records
    std::string text_;    // that has not been read
    std::optional<event> over_;
};

} // namespace sim
