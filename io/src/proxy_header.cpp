#include <rota/io/proxy_header.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <sys/un.h>

#include <rota/check.hpp>
#include <rota/io/network.hpp>

namespace rota::io {
namespace {

using progress = proxy_header_reading::progress;

constexpr std::string_view text_begin = "PROXY ";
constexpr std::size_t text_bytes_max = 107; // with its CRLF
constexpr std::string_view binary_begin{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t binary_fixed = 16; // before the addresses
constexpr std::size_t path_bytes = 108;  // of a Unix socket
constexpr std::array<std::size_t, 4> addresses_bytes{0, 12, 36, 2 * path_bytes}; // by family

proxy_header_reading malformed(const char* why) noexcept {
    return {.now = progress::malformed, .wrong = why};
}

// --- Version 1: a line ---

/// Between two spaces, as far as it has come.
struct word {
    std::string_view text;
    bool whole = false;
};

/// Takes the next one off the front of a line; `ends`: it is all of the line, so the last is whole.
word next_word(std::string_view& line, bool ends) noexcept {
    const std::size_t end = line.find(' ');
    const word next{line.substr(0, end), ends || end != std::string_view::npos};
    line.remove_prefix(std::min(next.text.size() + 1, line.size()));
    return next;
}

std::optional<std::uint16_t> port_of(std::string_view digits) noexcept {
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [behind, error] = std::from_chars(digits.data(), end, port);
    const bool zero_before = digits.size() > 1 && digits.front() == '0';
    if (error != std::errc() || behind != end || zero_before)
        return std::nullopt;
    return port;
}

/// What follows may make one of its beginning.
bool is_port(const word& digits) noexcept {
    return port_of(digits.text).has_value() || (!digits.whole && digits.text.empty());
}

bool parses(std::string_view text, bool v6) noexcept {
    return (text.find(':') != std::string_view::npos) == v6 && ip_address::parse(text).has_value();
}

/// The same of an address: one of these ends makes one of each beginning that can become one.
bool is_address(const word& address, bool v6) noexcept {
    if (address.whole)
        return parses(address.text, v6);
    constexpr std::size_t longest = INET6_ADDRSTRLEN;
    if (address.text.size() > longest)
        return false;
    constexpr std::array<std::string_view, 11> ends{
        "", "0", ".0", "0.0", ".0.0", "0.0.0", ".0.0.0", "0.0.0.0", ":", "::", ":0"};
    return std::ranges::any_of(ends, [&](std::string_view end) {
        std::array<char, longest + 8> made{};
        std::ranges::copy(end, std::ranges::copy(address.text, made.begin()).out);
        const std::string_view text(made.data(), address.text.size() + end.size());
        return parses(text, v6);
    });
}

endpoint endpoint_of(std::string_view address, std::string_view port, bool v6) noexcept {
    const auto number = port_of(port);
    const auto ip = ip_address::parse(address);
    ROTA_CHECK(number && ip, "the words are an address and a port");
    if (v6) {
        sockaddr_in6 made{};
        made.sin6_family = AF_INET6;
        made.sin6_port = htons(*number);
        std::memcpy(&made.sin6_addr, ip->bytes().data(), sizeof made.sin6_addr);
        return endpoint::from(reinterpret_cast<const sockaddr*>(&made), sizeof made);
    }
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(*number);
    std::memcpy(&made.sin_addr, &ip->bytes()[12], sizeof made.sin_addr);
    return endpoint::from(reinterpret_cast<const sockaddr*>(&made), sizeof made);
}

/// What stands in a line behind its first word; `ends`: that is all.
proxy_header_reading parse_words(std::string_view line, bool ends) noexcept {
    constexpr std::array<std::string_view, 3> protocols{"TCP4", "TCP6", "UNKNOWN"};
    const word protocol = next_word(line, ends);
    const bool known = std::ranges::any_of(protocols, [&](std::string_view each) {
        return protocol.whole ? each == protocol.text : each.starts_with(protocol.text);
    });
    if (!known)
        return malformed("its protocol is none of TCP4, TCP6 and UNKNOWN");
    proxy_header_reading got{.now = progress::complete, .header = {.version = 1}};
    if (protocol.text == "UNKNOWN") // whatever follows it
        return got;
    const bool v6 = protocol.text == "TCP6";
    const word source = next_word(line, ends);
    const word destination = next_word(line, ends);
    const word source_port = next_word(line, ends);
    const word destination_port{line, ends};
    if (protocol.whole && (!is_address(source, v6) || !is_address(destination, v6) ||
                           !is_port(source_port) || !is_port(destination_port)))
        return malformed("its addresses or ports are none");
    if (ends) {
        got.header.source = endpoint_of(source.text, source_port.text, v6);
        got.header.destination = endpoint_of(destination.text, destination_port.text, v6);
    }
    return got;
}

proxy_header_reading parse_text(std::string_view bytes) noexcept {
    const std::size_t end = bytes.substr(0, text_bytes_max).find_first_of("\r\n");
    const bool ends = end != std::string_view::npos;
    const bool whole = ends && end + 1 < bytes.size();
    if (ends && bytes[end] == '\n')
        return malformed("its line does not end in CRLF");
    if (whole && bytes[end + 1] != '\n')
        return malformed("a CR within its line");
    const std::string_view line = bytes.substr(0, end);
    if (line.size() + 2 > text_bytes_max)
        return malformed("its line is too long");
    proxy_header_reading got = parse_words(line.substr(text_begin.size()), ends);
    if (got.now == progress::malformed)
        return got;
    if (!whole)
        return {};
    got.size = end + 2;
    return got;
}

// --- Version 2: binary ---

/// Two addresses and two ports behind each other.
template <class Address, std::size_t Size>
std::pair<endpoint, endpoint> ip_pair(std::string_view block, sa_family_t family,
                                      in_port_t Address::*port, auto Address::*address,
                                      sa_family_t Address::*family_of) noexcept {
    std::pair<endpoint, endpoint> both;
    for (std::size_t i = 0; i < 2; ++i) {
        Address made{};
        made.*family_of = family;
        std::memcpy(&(made.*address), block.data() + i * Size, Size);
        std::memcpy(&(made.*port), block.data() + 2 * Size + 2 * i, 2);
        (i == 0 ? both.first : both.second) =
            endpoint::from(reinterpret_cast<const sockaddr*>(&made), sizeof made);
    }
    return both;
}

endpoint unix_end(std::string_view path) noexcept {
    sockaddr_un made{};
    made.sun_family = AF_UNIX;
    std::memcpy(made.sun_path, path.data(), path.size());
    // An abstract name begins with NUL, and NULs fill it up; all of them: there is none.
    const bool abstract = path.front() == '\0';
    const std::size_t used =
        abstract ? path.find_last_not_of('\0') + 1 : std::min(path.find('\0'), path.size() - 1) + 1;
    return endpoint::from(reinterpret_cast<const sockaddr*>(&made),
                          static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + used));
}

void read_addresses(std::string_view block, unsigned family, proxy_header& into) noexcept {
    std::pair<endpoint, endpoint> both;
    if (family == 1) {
        both = ip_pair<sockaddr_in, 4>(block, AF_INET, &sockaddr_in::sin_port,
                                       &sockaddr_in::sin_addr, &sockaddr_in::sin_family);
    } else if (family == 2) {
        both = ip_pair<sockaddr_in6, 16>(block, AF_INET6, &sockaddr_in6::sin6_port,
                                         &sockaddr_in6::sin6_addr, &sockaddr_in6::sin6_family);
    } else {
        both = {unix_end(block.substr(0, path_bytes)),
                unix_end(block.substr(path_bytes, path_bytes))};
    }
    into.source = both.first;
    into.destination = both.second;
}

proxy_header_reading parse_binary(std::string_view bytes) noexcept {
    // What has not come yet is `missing`, which has nothing wrong.
    const auto byte = [bytes](std::size_t at, unsigned missing) {
        return at < bytes.size() ? unsigned{static_cast<std::uint8_t>(bytes[at])} : missing;
    };
    const unsigned command = byte(12, 0x21) & 15;
    const unsigned family = byte(13, 0) >> 4;
    const unsigned transport = byte(13, 0) & 15;
    const std::size_t least = binary_fixed + (byte(14, 0) << 8 | byte(15, 0));
    const std::size_t most = binary_fixed + (byte(14, 0xff) << 8 | byte(15, 0xff));
    if (byte(12, 0x21) >> 4 != 2 || command > 1)
        return malformed("its version is not 2, or its command is neither LOCAL nor PROXY");
    // A LOCAL one is the proxy's own, whatever it says of addresses.
    if (command == 1 && (family > 3 || transport > 2))
        return malformed("its family or transport is none");
    if (least > proxy_header_bytes_max)
        return malformed("it is too long");
    const bool says = command == 1 && family != 0 && transport == 1;
    if (says && most < binary_fixed + addresses_bytes[family])
        return malformed("its addresses are cut off");
    if (bytes.size() < binary_fixed || bytes.size() < least)
        return {};
    proxy_header_reading got{.now = progress::complete, .size = least, .header = {.version = 2}};
    if (says)
        read_addresses(bytes.substr(binary_fixed, least - binary_fixed), family, got.header);
    return got;
}

bool may_become(std::string_view bytes, std::string_view begin) noexcept {
    const std::size_t size = std::min(bytes.size(), begin.size());
    return bytes.substr(0, size) == begin.substr(0, size);
}

} // namespace

proxy_header_reading parse_proxy_header(std::string_view bytes) noexcept {
    if (bytes.starts_with(text_begin))
        return parse_text(bytes);
    if (bytes.starts_with(binary_begin))
        return parse_binary(bytes);
    if (may_become(bytes, text_begin) || may_become(bytes, binary_begin))
        return {};
    return malformed("there is none");
}

task<proxy_header> read_proxy_header(stream* from, deadline until) {
    for (;;) {
        proxy_header_reading got = parse_proxy_header(from->buffered());
        if (got.now == progress::complete) {
            from->consume(got.size);
            co_return got.header;
        }
        if (got.now == progress::malformed)
            throw proxy_header_error(std::string("PROXY header: ") + got.wrong);
        const bool more = co_await from->fill_more(until);
        if (!more)
            throw proxy_header_error("PROXY header: the connection ended before");
    }
}

} // namespace rota::io
