#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/io/endpoint.hpp>

namespace rota::io {

/// An IPv4 or IPv6 address without a port and a scope. An IPv4 address that is written as IPv6
/// (IPv4-mapped, RFC 4291 section 2.5.5.2), as a listener on every address has them, is the IPv4
/// address. A value; any thread.
class ip_address {
public:
    /// Reads the usual notation, without brackets: "192.0.2.1", "2001:db8::1". Returns nothing for
    /// anything else.
    [[nodiscard]] static std::optional<ip_address> parse(std::string_view text) noexcept;
    /// Returns the address of an endpoint; nothing for a Unix socket.
    [[nodiscard]] static std::optional<ip_address> of(const endpoint& where) noexcept;

    [[nodiscard]] bool is_v4() const noexcept;
    /// Returns the 16 bytes of IPv6, in network order; an IPv4 address is in the last four of them.
    [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::string to_string() const;
    auto operator<=>(const ip_address&) const = default;

private:
    explicit ip_address(const std::array<std::uint8_t, 16>& bytes) noexcept : bytes_(bytes) {}
    std::array<std::uint8_t, 16> bytes_;
};

/// The addresses that begin with the same bits (CIDR, RFC 4632). A value; any thread.
class network {
public:
    /// Reads "10.0.0.0/8", as IPv6 "::ffff:10.0.0.0/104"; "2001:db8::/32"; or one address. Bits
    /// beyond the length are ignored. Throws std::invalid_argument, which says what is wrong.
    static network parse(std::string_view text);

    /// Returns whether `address` is in it. IPv4 addresses are in IPv4 networks only, so not in
    /// "::/0".
    [[nodiscard]] bool contains(const ip_address& address) const noexcept;
    /// Returns the text that parse() takes, with a length.
    [[nodiscard]] std::string to_string() const;

private:
    network(const ip_address& first, unsigned bits) noexcept : first_(first), bits_(bits) {}
    ip_address first_;
    unsigned bits_; // of 128
};

/// Several networks, perhaps with all Unix sockets. A value; immutable, any thread.
class network_list {
public:
    network_list() = default;
    /// Reads texts, each as network::parse() takes it, or "unix" for whatever comes by a Unix
    /// socket. Throws std::invalid_argument.
    explicit network_list(const std::vector<std::string>& texts);

    [[nodiscard]] bool contains(const ip_address& address) const noexcept;
    [[nodiscard]] bool contains(const endpoint& where) const noexcept;
    [[nodiscard]] bool has_unix() const noexcept { return unix_; }
    [[nodiscard]] bool empty() const noexcept { return networks_.empty() && !unix_; }

private:
    std::vector<network> networks_;
    bool unix_ = false;
};

} // namespace rota::io
