#pragma once

#include <cstdint>
#include <string>
#include <system_error>

namespace rota::io::tls {

/// What TLS itself finds wrong with a connection; beside it there are failures of the transport,
/// which are std::system_error as well. The connection cannot be used any more.
class failure : public std::system_error {
public:
    enum class kind : std::uint8_t {
        truncated, ///< the transport has ended without close_notify: something may be missing
        protocol,  ///< the peer breaks the protocol, has nothing in common with us, or says that of
                   ///< us
        certificate, ///< the peer's certificate is not trusted, or not for this name
        plain_text,  ///< the client does not speak TLS but, it seems, HTTP
        crowded,     ///< given up for newer handshakes
    };

    failure(kind of, const std::string& text);

    [[nodiscard]] kind what_kind() const noexcept { return kind_; }

private:
    kind kind_;
};

} // namespace rota::io::tls
