#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rota::http::detail {

/// host[:port] of a Host field or a URI (RFC 3986 section 3.2), as views of the text.
struct authority {
    std::string_view host; // an IPv6 address with its brackets
    std::optional<std::uint16_t> port;
};

/// Nothing for what is no host with or without a port: empty, with user information, escapes or
/// white space, or with a port that is none. "host:" has no port.
[[nodiscard]] std::optional<authority> parse_authority(std::string_view text) noexcept;

/// Whether two hosts are the same text without regard to case, or to a dot at the end of a name; or
/// the same IPv6 address, however it is written.
[[nodiscard]] bool same_host(std::string_view a, std::string_view b) noexcept;

/// Whether a host is an IPv4 or IPv6 address, in the notation that URIs have. A name never is, so
/// no name service can make it mean another machine.
[[nodiscard]] bool is_address(std::string_view host) noexcept;

/// Whether a host is written as browsers write it (WHATWG URL, host serializing): an IPv6 address
/// at its shortest and without dots, an IPv4 address as four numbers, which it is if its last label
/// is a number. Whether a name is in lower case is not looked at.
[[nodiscard]] bool is_as_browsers_write(std::string_view host) noexcept;

/// Whether a host is an address of this machine for itself: 127.0.0.0/8, [::1], or the former as
/// [::ffff:127.0.0.1] (RFC 6890).
[[nodiscard]] bool is_loopback(std::string_view host) noexcept;

/// Whether an Origin field (RFC 6454 section 7) names a page of the server that `host` names. What
/// `host` leaves out is the port of the page's scheme: a proxy that speaks TLS sends it so. "null",
/// and anything but http and https, is foreign.
[[nodiscard]] bool same_origin(std::string_view origin, std::string_view host) noexcept;

} // namespace rota::http::detail
