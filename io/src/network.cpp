#include <rota/io/network.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace rota::io {
namespace {

using address_bytes = std::array<std::uint8_t, 16>;

constexpr std::size_t v4_offset = 12;
constexpr unsigned v4_bits_before = 96;
constexpr address_bytes v4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

address_bytes mapped(const in_addr& v4) noexcept {
    address_bytes bytes = v4_prefix;
    std::memcpy(&bytes[v4_offset], &v4, sizeof v4);
    return bytes;
}

[[noreturn]] void reject(std::string_view text, const char* why) {
    throw std::invalid_argument("network \"" + std::string(text) + "\": " + why);
}

} // namespace

std::optional<ip_address> ip_address::parse(std::string_view text) noexcept {
    std::array<char, INET6_ADDRSTRLEN> ended{};
    if (text.size() >= ended.size() || text.find('\0') != std::string_view::npos)
        return std::nullopt;
    std::ranges::copy(text, ended.begin());
    if (in_addr v4{}; ::inet_pton(AF_INET, ended.data(), &v4) == 1)
        return ip_address(mapped(v4));
    address_bytes v6{};
    if (::inet_pton(AF_INET6, ended.data(), v6.data()) == 1)
        return ip_address(v6);
    return std::nullopt;
}

std::optional<ip_address> ip_address::of(const endpoint& where) noexcept {
    if (where.family() == AF_INET)
        return ip_address(mapped(reinterpret_cast<const sockaddr_in*>(where.address())->sin_addr));
    if (where.family() != AF_INET6)
        return std::nullopt;
    address_bytes v6{};
    const auto* const from = reinterpret_cast<const sockaddr_in6*>(where.address());
    std::memcpy(v6.data(), &from->sin6_addr, v6.size());
    return ip_address(v6);
}

bool ip_address::is_v4() const noexcept {
    return std::memcmp(bytes_.data(), v4_prefix.data(), v4_offset) == 0;
}

std::string ip_address::to_string() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool v4 = is_v4();
    ::inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? &bytes_[v4_offset] : bytes_.data(), text.data(),
                text.size());
    return text.data();
}

network network::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    const auto address = ip_address::parse(text.substr(0, slash));
    if (!address)
        reject(text, "neither an IPv4 nor an IPv6 address, nor one with a length behind a slash");
    // ::ffff:10.0.0.0/104 is 10.0.0.0/8.
    const bool v4 = address->is_v4() && text.substr(0, slash).find(':') == std::string_view::npos;
    const unsigned most = v4 ? 32 : 128;
    unsigned bits = most;
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        const char* const end = digits.data() + digits.size();
        const auto [behind, error] = std::from_chars(digits.data(), end, bits);
        if (error != std::errc() || behind != end || bits > most)
            reject(text, v4 ? "the length of an IPv4 network is 0 to 32"
                            : "the length of an IPv6 network is 0 to 128");
        if (!v4 && address->is_v4() && bits < v4_bits_before)
            reject(text, "the length of an IPv4 network as an IPv6 one is 96 to 128");
    }
    return {*address, v4 ? bits + v4_bits_before : bits};
}

bool network::contains(const ip_address& address) const noexcept {
    if (address.is_v4() && bits_ < v4_bits_before)
        return false;
    const std::size_t whole = bits_ / 8;
    if (std::memcmp(address.bytes().data(), first_.bytes().data(), whole) != 0)
        return false;
    const unsigned rest = bits_ % 8;
    if (rest == 0)
        return true;
    const unsigned differing = address.bytes()[whole] ^ unsigned { first_.bytes()[whole] };
    return differing >> (8 - rest) == 0;
}

std::string network::to_string() const {
    return first_.to_string() + '/' +
           std::to_string(first_.is_v4() ? bits_ - v4_bits_before : bits_);
}

network_list::network_list(const std::vector<std::string>& texts) {
    for (const std::string& each : texts) {
        if (each == "unix")
            unix_ = true;
        else
            networks_.push_back(network::parse(each));
    }
}

bool network_list::contains(const ip_address& address) const noexcept {
    return std::ranges::any_of(networks_,
                               [&](const network& each) { return each.contains(address); });
}

bool network_list::contains(const endpoint& where) const noexcept {
    if (where.family() == AF_UNIX)
        return unix_;
    const auto address = ip_address::of(where);
    return address && contains(*address);
}

} // namespace rota::io
