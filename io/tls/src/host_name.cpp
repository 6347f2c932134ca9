#include "host_name.hpp"

#include <algorithm>
#include <stdexcept>

#include <arpa/inet.h>

namespace rota::io::tls {
namespace {

/// ".example.org" of "a.example.org"; empty where there is no label to stand for.
std::string_view behind_first_label(std::string_view host) {
    const std::size_t dot = host.find('.');
    return dot == 0 || dot == std::string_view::npos ? "" : host.substr(dot);
}

/// What ends so is an IPv4 address in other spellings (man 3 inet_aton), which are not the same for
/// all that read them.
bool is_number(std::string_view label) noexcept {
    const bool hexadecimal = label.starts_with("0x");
    return label.find_first_not_of(hexadecimal ? "0123456789abcdef" : "0123456789",
                                   hexadecimal ? 2 : 0) == std::string_view::npos;
}

/// Not one with a leading dot, which OpenSSL takes for whatever ends so.
bool is_name(std::string_view host) noexcept {
    constexpr std::size_t bytes_max = 255;
    const bool empty_label = host.starts_with('.') || host.ends_with('.') || host.contains("..");
    return !host.empty() && host.size() <= bytes_max && !empty_label &&
           host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") ==
               std::string_view::npos &&
           !is_number(host.substr(host.rfind('.') + 1));
}

bool is_no_port(std::string_view behind) noexcept {
    constexpr int greatest = 65'535;
    int port = 0;
    for (std::size_t i = 1; i < behind.size() && port <= greatest; ++i)
        port = behind[i] >= '0' && behind[i] <= '9' ? 10 * port + (behind[i] - '0') : greatest + 1;
    return !behind.empty() && (behind.front() != ':' || port > greatest);
}

} // namespace

std::string lower_host(std::string_view name) {
    if (name.ends_with('.'))
        name.remove_suffix(1);
    std::string result(name);
    std::ranges::transform(result, result.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
}

std::string host_of(std::string_view authority) {
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        return lower_host(authority.substr(1, end == std::string_view::npos ? end : end - 1));
    }
    return lower_host(authority.substr(0, authority.find(':')));
}

bool is_address(const std::string& host) noexcept {
    in6_addr any{};
    return host.find('\0') == std::string::npos && (::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
                                                    ::inet_pton(AF_INET6, host.c_str(), &any) == 1);
}

std::string host_to_verify(const std::string& authority) {
    if (is_address(authority))
        return authority;
    std::string host = host_of(authority);
    const bool in_brackets = authority.starts_with('[');
    const std::size_t end = authority.find(in_brackets ? ']' : ':');
    const bool whole = end == std::string::npos;
    const bool right = in_brackets
                           ? !whole && host.find(':') != std::string::npos && is_address(host)
                           : is_address(host) || is_name(host);
    if (!right || (!whole && is_no_port(std::string_view(authority).substr(end + in_brackets))))
        throw std::invalid_argument("tls: neither the name nor the address of a host: " +
                                    authority);
    return host;
}

bool name_index::add(std::string_view name, std::size_t owner) {
    if (name.starts_with("*."))
        return wildcard_.emplace(name.substr(1), owner).second;
    return exact_.emplace(name, owner).second;
}

std::optional<std::size_t> name_index::find(std::string_view name) const {
    if (const auto found = exact_.find(std::string(name)); found != exact_.end())
        return found->second;
    const std::string_view rest = behind_first_label(name);
    if (const auto found = wildcard_.find(std::string(rest)); found != wildcard_.end())
        return found->second;
    return std::nullopt;
}

bool covers(const std::vector<std::string>& names, std::string_view host) {
    const std::string_view rest = behind_first_label(host);
    return std::ranges::any_of(names, [&](std::string_view name) {
        if (name.starts_with("*."))
            return !rest.empty() && name.substr(1) == rest;
        return name == host;
    });
}

} // namespace rota::io::tls
