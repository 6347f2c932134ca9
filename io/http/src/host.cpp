#include <rota/http/detail/host.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <rota/http/detail/syntax.hpp>

namespace rota::http {
namespace {

/// Digits, with as many zeros before them as one likes (RFC 3986 section 3.2.3).
bool valid_port(std::string_view text) noexcept {
    unsigned port = 0;
    for (char c : text) {
        if (!syntax::is_digit(c))
            return false;
        port = port * 10 + static_cast<unsigned>(c - '0');
        if (port > 65'535)
            return false;
    }
    return true;
}

/// What stands in brackets: an IPv6 address, or an address of a future version (RFC 3986 section
/// 3.2.2).
bool valid_literal(std::string_view text) noexcept {
    if (text.starts_with('v') || text.starts_with('V')) {
        std::size_t at = 1;
        while (at < text.size() && syntax::hex_value(text[at]) >= 0)
            ++at;
        if (at == 1 || at + 1 >= text.size() || text[at] != '.')
            return false;
        return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at) + 1, text.end(),
                           [](char c) { return syntax::is_host_char(c) || c == ':'; });
    }
    std::array<char, INET6_ADDRSTRLEN> terminated{};
    if (text.size() >= terminated.size())
        return false;
    std::ranges::copy(text, terminated.begin());
    in6_addr address{};
    return ::inet_pton(AF_INET6, terminated.data(), &address) == 1;
}

} // namespace

bool valid_host(std::string_view text) noexcept {
    if (text.starts_with(':'))
        return false;
    std::size_t end = 0;
    if (text.starts_with('[')) {
        end = text.find(']');
        if (end == std::string_view::npos || !valid_literal(text.substr(1, end - 1)))
            return false;
        ++end;
    } else {
        for (;; end += 3) {
            while (end < text.size() && syntax::is_host_char(text[end]))
                ++end;
            if (end == text.size() || text[end] == ':')
                break;
            if (text[end] != '%' || end + 2 >= text.size() ||
                syntax::hex_value(text[end + 1]) < 0 || syntax::hex_value(text[end + 2]) < 0) {
                return false;
            }
        }
    }
    if (end == text.size())
        return true;
    return text[end] == ':' && valid_port(text.substr(end + 1));
}

} // namespace rota::http
