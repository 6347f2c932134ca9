#pragma once

// What proxies say in fields of a request, without I/O. Any thread.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/io/network.hpp>

namespace rota::http {

/// One step of a request's way (RFC 7239 section 4): what one proxy has added. Texts are without
/// quotes, and empty where it gave none.
struct forwarded_element {
    std::string by;
    std::string from; ///< "for": whom it had the request from
    std::string host; ///< Host as it was then
    std::string proto;
};

/// Reads the values of Forwarded fields, joined by commas; the client is first. Returns nothing for
/// what is malformed, has a parameter twice in one step, or one of these with an empty text. Skips
/// other parameters.
[[nodiscard]] std::optional<std::vector<forwarded_element>> parse_forwarded(std::string_view list);

/// The node that a proxy names (RFC 7239 section 6): an address, "unknown", or a word of its own
/// that begins with '_'; perhaps with a port.
struct forwarded_node {
    std::optional<io::ip_address> address; ///< nothing: hidden
    std::string_view name;                 ///< as it came, without the port
    std::string_view port;                 ///< without the colon; a number, or a word with '_'

    /// Returns the text that request::peer() has: "192.0.2.1", "[2001:db8::1]:4711", "unknown".
    [[nodiscard]] std::string to_string() const;
};

/// Reads a node; returns nothing for anything else. With `bare`, as in X-Forwarded-For, IPv6
/// addresses may stand without brackets.
[[nodiscard]] std::optional<forwarded_node> parse_forwarded_node(std::string_view text,
                                                                 bool bare = false);

/// Returns the address in a text of request::peer(), without port, brackets and scope: "192.0.2.1",
/// "2001:db8::1"; "unix" for a Unix socket, anything else as it is. A key for limits, and for logs.
[[nodiscard]] std::string_view peer_address(std::string_view peer) noexcept;

} // namespace rota::http
