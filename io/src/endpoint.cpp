#include <rota/io/endpoint.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace rota::io {
namespace {

[[noreturn]] void reject(std::string_view text, std::string_view why) {
    throw std::invalid_argument(fmt::format("address \"{}\": {}", text, why));
}

std::uint32_t parse_scope(std::string_view whole, const std::string& scope) {
    std::uint32_t index = 0;
    const auto [end, error] = std::from_chars(scope.data(), scope.data() + scope.size(), index);
    if (error == std::errc{} && end == scope.data() + scope.size())
        return index;
    index = ::if_nametoindex(scope.c_str());
    if (index == 0)
        reject(whole, "no interface has the name of its scope");
    return index;
}

/// The name of a Unix socket for a log, where it stands between other fields.
std::string one_word(std::string_view name) {
    std::string word;
    for (const char c : name) {
        if (c > ' ' && c < '\x7f' && c != '"' && c != '\\')
            word += c;
        else
            word += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return word;
}

} // namespace

endpoint endpoint::ip(std::string_view address, std::uint16_t port) {
    const std::string_view whole = address;
    if (address.find('\0') != std::string_view::npos)
        reject(whole, "it has a zero byte in it");
    if (address.size() >= 2 && address.front() == '[' && address.back() == ']') {
        address = address.substr(1, address.size() - 2);
    }
    if (address == "localhost")
        address = "127.0.0.1";
    if (address == "*")
        address = "::";

    endpoint result;
    if (sockaddr_in v4{}; ::inet_pton(AF_INET, std::string(address).c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        std::memcpy(&result.storage_, &v4, sizeof v4);
        result.length_ = sizeof v4;
        return result;
    }
    sockaddr_in6 v6{};
    if (const auto percent = address.find('%'); percent != std::string_view::npos) {
        v6.sin6_scope_id = parse_scope(whole, std::string(address.substr(percent + 1)));
        address = address.substr(0, percent);
    }
    if (::inet_pton(AF_INET6, std::string(address).c_str(), &v6.sin6_addr) != 1)
        reject(whole, "neither an IPv4 nor an IPv6 address; names of hosts are not looked up");
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&result.storage_, &v6, sizeof v6);
    result.length_ = sizeof v6;
    return result;
}

endpoint endpoint::unix_path(std::string_view path) {
    sockaddr_un un{};
    if (path.empty())
        reject("unix:", "the path of a Unix socket is empty");
    // A path ends with a NUL; an abstract name begins with one and has none at its end.
    const bool abstract = path.front() == '@';
    if (path == "@")
        reject(path, "the abstract name of a Unix socket is empty");
    if (!abstract && path.find('\0') != std::string_view::npos)
        reject(path, "it has a zero byte in it");
    if (path.size() + (abstract ? 0 : 1) > sizeof un.sun_path) {
        reject(path, "too long for a Unix socket");
    }
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, path.data(), path.size());
    if (abstract)
        un.sun_path[0] = '\0';
    endpoint result;
    std::memcpy(&result.storage_, &un, sizeof un);
    result.length_ =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
    return result;
}

endpoint endpoint::parse(std::string_view text) {
    if (text.starts_with("unix:"))
        return unix_path(text.substr(5));
    if (text.find("://") != std::string_view::npos)
        reject(text, "a URL; write ADDRESS:PORT, a port alone, or unix:PATH");
    const auto colon = text.rfind(':');
    const bool port_alone =
        !text.empty() && (colon == 0 || colon == std::string_view::npos) &&
        text.find_first_not_of("0123456789", colon == 0 ? 1 : 0) == std::string_view::npos;
    if ((colon == std::string_view::npos && !port_alone) || text.ends_with(']'))
        reject(text, "no port; write ADDRESS:PORT, a port alone, or unix:PATH");
    const std::string_view host = port_alone ? "127.0.0.1" : text.substr(0, colon);
    const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
    if (host.find(':') != std::string_view::npos && host.front() != '[') {
        reject(text, "put the IPv6 address in brackets");
    }
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size()) {
        reject(text, "the port is not a number from 0 to 65535");
    }
    return ip(host, port);
}

endpoint endpoint::from(const sockaddr* address, socklen_t length) noexcept {
    endpoint result;
    result.length_ = std::min<socklen_t>(length, sizeof result.storage_);
    std::memcpy(&result.storage_, address, result.length_);
    return result;
}

std::uint16_t endpoint::port() const noexcept {
    if (family() == AF_INET)
        return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
    if (family() == AF_INET6)
        return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
    return 0;
}

std::string endpoint::file_path() const {
    if (family() != AF_UNIX || length_ <= offsetof(sockaddr_un, sun_path))
        return {};
    const auto* un = reinterpret_cast<const sockaddr_un*>(&storage_);
    return un->sun_path[0] == '\0' ? std::string() : std::string(un->sun_path);
}

std::string endpoint::to_string() const {
    const auto v4_text = [this](const std::uint8_t* byte) {
        return fmt::format(FMT_COMPILE("{}.{}.{}.{}:{}"), byte[0], byte[1], byte[2], byte[3],
                           port());
    };
    if (family() == AF_INET) {
        const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage_);
        return v4_text(reinterpret_cast<const std::uint8_t*>(&v4->sin_addr));
    }
    if (family() == AF_INET6) {
        const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
            return v4_text(&v6->sin6_addr.s6_addr[12]);
        char text[INET6_ADDRSTRLEN] = "";
        ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        if (v6->sin6_scope_id != 0)
            return fmt::format("[{}%{}]:{}", text, v6->sin6_scope_id, port());
        return fmt::format("[{}]:{}", text, port());
    }
    if (family() == AF_UNIX) {
        const std::size_t size = length_ - offsetof(sockaddr_un, sun_path);
        if (length_ <= offsetof(sockaddr_un, sun_path))
            return "unix:";
        const auto* un = reinterpret_cast<const sockaddr_un*>(&storage_);
        if (un->sun_path[0] != '\0')
            return "unix:" + one_word(un->sun_path);
        return "unix:@" + one_word({un->sun_path + 1, size - 1});
    }
    return "unknown address";
}

} // namespace rota::io
