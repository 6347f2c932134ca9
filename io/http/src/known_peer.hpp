#pragma once

#include <optional>
#include <string_view>

#include <rota/http/forwarded.hpp>
#include <rota/io/network.hpp>

namespace rota::http {

/// Whether what request::peer() says is in these networks.
[[nodiscard]] inline bool is_of(std::string_view peer, const io::network_list& networks) noexcept {
    if (peer.starts_with("unix:"))
        return networks.has_unix();
    const auto address = io::ip_address::parse(peer_address(peer));
    return address && networks.contains(*address);
}

/// The same; without networks everybody is.
[[nodiscard]] inline bool is_of(std::string_view peer,
                                const std::optional<io::network_list>& networks) noexcept {
    return !networks || is_of(peer, *networks);
}

} // namespace rota::http
