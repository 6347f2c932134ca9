#include <rota/io/proxy_header.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <sys/un.h>

#include <rota/io/network.hpp>

namespace rota::io {
namespace {

using progress = proxy_header_reading::progress;

constexpr std::string_view text_begin = "PROXY ";
constexpr std::size_t text_bytes_max = 107; // with its CRLF
constexpr std::string_view binary_begin{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t binary_fixed = 16; // before the addresses

proxy_header_reading malformed(const char* why) noexcept {
    return {.now = progress::malformed, .wrong = why};
}

// --- Version 1: a line ---

/// Takes the text before the next space off the front; the last one has none behind it.
std::string_view next_word(std::string_view& line) noexcept {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return word;
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

std::optional<endpoint> endpoint_of(std::string_view address, std::string_view port,
                                    bool v6) noexcept {
    const auto number = port_of(port);
    const auto ip = ip_address::parse(address);
    if (!number || !ip || (address.find(':') != std::string_view::npos) != v6)
        return std::nullopt;
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

proxy_header_reading parse_text(std::string_view bytes) noexcept {
    const std::string_view beginning = bytes.substr(0, text_bytes_max);
    const std::size_t end = beginning.find('\n');
    if (end == std::string_view::npos) {
        return bytes.size() < text_bytes_max ? proxy_header_reading()
                                             : malformed("its line is too long");
    }
    std::string_view line = beginning.substr(0, end);
    if (!line.ends_with('\r'))
        return malformed("its line does not end in CRLF");
    line.remove_suffix(1);
    if (line.find('\r') != std::string_view::npos)
        return malformed("a CR within its line");
    line.remove_prefix(text_begin.size());
    proxy_header_reading got{.now = progress::complete, .size = end + 1, .header = {.version = 1}};
    const std::string_view protocol = next_word(line);
    if (protocol == "UNKNOWN") // whatever follows it
        return got;
    const bool v6 = protocol == "TCP6";
    if (!v6 && protocol != "TCP4")
        return malformed("its protocol is none of TCP4, TCP6 and UNKNOWN");
    std::array<std::string_view, 4> words; // two addresses, two ports
    for (std::string_view& word : words)
        word = next_word(line);
    got.header.source = endpoint_of(words[0], words[2], v6);
    got.header.destination = endpoint_of(words[1], words[3], v6);
    const bool ends_there = words[3].data() + words[3].size() == beginning.data() + end - 1;
    if (!got.header.source || !got.header.destination || !ends_there)
        return malformed("its addresses or ports are none");
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

/// False if there is no room for what the family has.
bool read_addresses(std::string_view block, unsigned family, proxy_header& into) noexcept {
    constexpr std::size_t unix_size = 108;
    const std::array<std::size_t, 4> needs{0, 12, 36, 2 * unix_size};
    if (block.size() < needs[family])
        return false;
    std::pair<endpoint, endpoint> both;
    if (family == 1) {
        both = ip_pair<sockaddr_in, 4>(block, AF_INET, &sockaddr_in::sin_port,
                                       &sockaddr_in::sin_addr, &sockaddr_in::sin_family);
    } else if (family == 2) {
        both = ip_pair<sockaddr_in6, 16>(block, AF_INET6, &sockaddr_in6::sin6_port,
                                         &sockaddr_in6::sin6_addr, &sockaddr_in6::sin6_family);
    } else {
        both = {unix_end(block.substr(0, unix_size)), unix_end(block.substr(unix_size, unix_size))};
    }
    into.source = both.first;
    into.destination = both.second;
    return true;
}

proxy_header_reading parse_binary(std::string_view bytes) noexcept {
    if (bytes.size() < binary_fixed)
        return {};
    const auto byte = [bytes](std::size_t at) {
        return unsigned{static_cast<std::uint8_t>(bytes[at])};
    };
    const unsigned command = byte(12) & 15;
    const unsigned family = byte(13) >> 4;
    const unsigned transport = byte(13) & 15;
    const std::size_t size = binary_fixed + (byte(14) << 8 | byte(15));
    if (byte(12) >> 4 != 2 || command > 1)
        return malformed("its version is not 2, or its command is neither LOCAL nor PROXY");
    if (size > proxy_header_bytes_max)
        return malformed("it is too long");
    // A LOCAL one is the proxy's own, whatever it says of addresses.
    if (command == 1 && (family > 3 || transport > 2))
        return malformed("its family or transport is none");
    if (bytes.size() < size)
        return {};
    proxy_header_reading got{.now = progress::complete, .size = size, .header = {.version = 2}};
    const bool says = command == 1 && family != 0 && transport == 1;
    if (says &&
        !read_addresses(bytes.substr(binary_fixed, size - binary_fixed), family, got.header))
        return malformed("its addresses are cut off");
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
