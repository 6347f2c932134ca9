#include "authority.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <rota/http/detail/syntax.hpp>
#include <rota/http/fields.hpp>

namespace rota::http::detail {
namespace {

/// For inet_pton(), which wants an end of the text; what is longer is no address.
struct terminated {
    explicit terminated(std::string_view text) noexcept {
        if (text.size() < chars.size())
            std::ranges::copy(text, chars.begin());
    }
    std::array<char, INET6_ADDRSTRLEN> chars{};
};

std::optional<in_addr> parse_ipv4(std::string_view text) noexcept {
    in_addr address{};
    if (::inet_pton(AF_INET, terminated(text).chars.data(), &address) != 1)
        return std::nullopt;
    return address;
}

std::optional<in6_addr> parse_ipv6(std::string_view host) noexcept {
    if (!host.starts_with('[') || !host.ends_with(']'))
        return std::nullopt;
    in6_addr address{};
    const std::string_view text = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, terminated(text).chars.data(), &address) != 1)
        return std::nullopt;
    return address;
}

std::string_view without_last_dot(std::string_view name) noexcept {
    if (name.ends_with('.'))
        name.remove_suffix(1);
    return name;
}

/// inet_ntop() has the last 32 bits of some addresses as an IPv4 address.
std::array<char, INET6_ADDRSTRLEN> shortest(const in6_addr& address) noexcept {
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET6, &address, text.data(), text.size());
    const std::string_view all(text.data());
    if (all.find('.') == std::string_view::npos)
        return text;
    const auto word = [&address](std::size_t at) {
        return static_cast<unsigned>(address.s6_addr[at] << 8 | address.s6_addr[at + 1]);
    };
    const std::size_t at = all.rfind(':') + 1;
    std::snprintf(text.data() + at, text.size() - at, "%x:%x", word(12), word(14));
    return text;
}

bool ends_in_number(std::string_view host) noexcept {
    host = without_last_dot(host);
    std::string_view last = host.substr(host.rfind('.') + 1);
    const bool hex = last.starts_with("0x");
    if (hex)
        last.remove_prefix(2);
    return (hex || !last.empty()) && std::ranges::all_of(last, [hex](char c) {
               return hex ? syntax::hex_value(c) >= 0 : syntax::is_digit(c);
           });
}

/// The end of the host: where a colon may follow. An address in brackets has colons of its own.
std::size_t host_size(std::string_view text) noexcept {
    if (!text.starts_with('['))
        return std::min(text.find(':'), text.size());
    const std::size_t end = text.find(']');
    return end == std::string_view::npos ? 0 : end + 1;
}

} // namespace

std::optional<authority> parse_authority(std::string_view text) noexcept {
    authority result;
    result.host = text.substr(0, host_size(text));
    text.remove_prefix(result.host.size());
    const bool valid = result.host.starts_with('[')
                           ? parse_ipv6(result.host).has_value()
                           : std::ranges::all_of(result.host, syntax::is_host_char);
    if (!valid || result.host.empty() || !(text.empty() || text.starts_with(':')))
        return std::nullopt;
    if (text.size() <= 1) // at most the colon
        return result;
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    result.port = port;
    return result;
}

bool same_host(std::string_view a, std::string_view b) noexcept {
    const auto one = parse_ipv6(a);
    const auto other = parse_ipv6(b);
    if (one && other)
        return IN6_ARE_ADDR_EQUAL(&*one, &*other);
    return fields::iequals(without_last_dot(a), without_last_dot(b));
}

bool is_address(std::string_view host) noexcept {
    return parse_ipv4(host).has_value() || parse_ipv6(host).has_value();
}

bool is_as_browsers_write(std::string_view host) noexcept {
    const auto v6 = parse_ipv6(host);
    return v6 ? host.substr(1, host.size() - 2) == shortest(*v6).data()
              : !ends_in_number(host) || parse_ipv4(host).has_value();
}

bool is_loopback(std::string_view host) noexcept {
    if (const auto v4 = parse_ipv4(host))
        return ntohl(v4->s_addr) >> 24 == 127;
    const auto v6 = parse_ipv6(host);
    if (!v6)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&*v6) || (IN6_IS_ADDR_V4MAPPED(&*v6) && v6->s6_addr[12] == 127);
}

bool same_origin(std::string_view origin, std::string_view host) noexcept {
    std::uint16_t port = 80;
    if (origin.starts_with("http://")) {
        origin.remove_prefix(7);
    } else if (origin.starts_with("https://")) {
        origin.remove_prefix(8);
        port = 443;
    } else {
        return false;
    }
    const auto page = parse_authority(origin);
    const auto server = parse_authority(host);
    return page && server && same_host(page->host, server->host) &&
           page->port.value_or(port) == server->port.value_or(port);
}

} // namespace rota::http::detail
