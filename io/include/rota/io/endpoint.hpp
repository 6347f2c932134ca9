#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace rota::io {

/// The address of a socket: IPv4, IPv6 or a Unix path. A value.
class endpoint {
public:
    endpoint() = default;
    /// Does what parse() does, so that a list of endpoints is a list of texts.
    // NOLINTNEXTLINE(google-explicit-constructor): meant so
    endpoint(const char* text) : endpoint(parse(text)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    endpoint(const std::string& text) : endpoint(parse(text)) {}
    // NOLINTNEXTLINE(google-explicit-constructor)
    endpoint(std::string_view text) : endpoint(parse(text)) {}

    /// Makes one of an IPv4 or IPv6 address in its usual notation ("127.0.0.1", "::1",
    /// "fe80::1%eth0" with a numeric or named scope, brackets allowed) and a port. "localhost" is
    /// 127.0.0.1 and "*" every IPv6 and IPv4 address. No name service is asked. Throws
    /// std::invalid_argument.
    static endpoint ip(std::string_view address, std::uint16_t port);
    /// Makes one of the path of a Unix domain socket; a leading '@' names one in the abstract
    /// namespace. Throws std::invalid_argument when the path is empty or too long (man 7 unix).
    static endpoint unix_path(std::string_view path);
    /// Reads "127.0.0.1:80", "localhost:80", "[::1]:80", "*:80" (every address),
    /// "unix:/run/x.sock", "unix:@name" (the abstract namespace). A port alone, "8080" or ":8080",
    /// is on 127.0.0.1: clients from outside are let in only by an address that says so. For port 0
    /// the system chooses one. Throws std::invalid_argument, which says what is wrong.
    static endpoint parse(std::string_view text);
    static endpoint from(const sockaddr* address, socklen_t length) noexcept;

    [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
    [[nodiscard]] const sockaddr* address() const noexcept {
        return reinterpret_cast<const sockaddr*>(&storage_);
    }
    [[nodiscard]] socklen_t length() const noexcept { return length_; }
    /// Returns the port, 0 for a Unix socket.
    [[nodiscard]] std::uint16_t port() const noexcept;
    /// Returns the path of a Unix socket that has a name in the file system, else an empty text.
    [[nodiscard]] std::string file_path() const;
    /// Returns the text that parse() takes, except for some names of Unix sockets: a client may
    /// have chosen them, so quotes, backslashes and all but visible ASCII are `\xNN`, and it is one
    /// word of a log. A client of IPv4 is shown with its own address where a listener for both has
    /// it as an IPv6 one (mapped: RFC 4291 section 2.5.5.2).
    [[nodiscard]] std::string to_string() const;

    /// Compares the kernel's forms: an IPv4 address and the same one as a mapped IPv6 one are two.
    friend bool operator==(const endpoint& a, const endpoint& b) noexcept {
        return a.bytes() == b.bytes();
    }
    friend auto operator<=>(const endpoint& a, const endpoint& b) noexcept {
        return a.bytes() <=> b.bytes();
    }

private:
    friend struct std::hash<endpoint>;
    [[nodiscard]] std::string_view bytes() const noexcept {
        return {reinterpret_cast<const char*>(&storage_), length_};
    }

    sockaddr_storage storage_{};
    socklen_t length_ = 0;
};

} // namespace rota::io

/// @cond
template <>
struct std::hash<rota::io::endpoint> {
    std::size_t operator()(const rota::io::endpoint& of) const noexcept {
        return std::hash<std::string_view>{}(of.bytes());
    }
};
/// @endcond
