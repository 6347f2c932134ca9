#include "host_name.hpp"

#include <algorithm>

#include <arpa/inet.h>

namespace rota::io::tls {
namespace {

/// ".example.org" of "a.example.org"; empty where there is no label to stand for.
std::string_view behind_first_label(std::string_view host) {
    const std::size_t dot = host.find('.');
    return dot == 0 || dot == std::string_view::npos ? "" : host.substr(dot);
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
    return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

void name_index::add(std::string_view name, std::size_t owner) {
    if (name.starts_with("*."))
        wildcard_.emplace(name.substr(1), owner);
    else
        exact_.emplace(name, owner);
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
