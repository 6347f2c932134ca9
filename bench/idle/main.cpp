// rota-crowd: opens many connections, asks once over each, and holds them until its input ends.
//
// The connections come from the addresses 127.FIRST.0.1, 127.FIRST.0.2, ..., so many from each that
// their ports suffice. A few are opened ahead of the answers. Two lines of JSON: when all are held
// {"held", "why_no_more"}, and at the end {"lost"}: those that the server did not keep.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

namespace {

constexpr std::size_t ahead = 256;       // connections that have asked and not read the answer
constexpr unsigned per_address = 20'000; // of the 28,000 ports that Linux gives by default
constexpr unsigned look_every = 1'000;   // connections between two looks at the memory

struct settings {
    std::uint16_t port = 0;
    unsigned connections = 1'000;
    unsigned first = 1;
    std::uint64_t memory_floor_mib = 0;
    std::string path = "/plaintext";
};

/// What ends the opening before all connections are there, but is no error.
struct no_more : std::runtime_error {
    using runtime_error::runtime_error;
};

/// Memory that programs can still have, in MiB (man 5 proc).
std::uint64_t available_mib() {
    std::ifstream in("/proc/meminfo");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("MemAvailable:"))
            return std::strtoull(line.c_str() + 13, nullptr, 10) / 1024;
    }
    return ~std::uint64_t{0};
}

[[noreturn]] void fail(const char* what) {
    if (errno == EMFILE || errno == ENFILE)
        throw no_more("no more descriptors");
    throw std::system_error(errno, std::system_category(), what);
}

int open_connection(const settings& asked, unsigned number) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fail("socket");
    const int on = 1;
    const linger now{.l_onoff = 1, .l_linger = 0}; // leaves nothing in TIME_WAIT
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(0x7F000001U + (asked.first << 16U) + number / per_address);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0)
        fail("bind");
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(asked.port);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        fail("connect");
    return fd;
}

void ask(int fd, const std::string& request) {
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
        fail("send");
}

/// Reads one answer: a head with status 200, and as much as its Content-Length says.
void read_answer(int fd) {
    std::string text;
    for (;;) {
        const std::size_t head = text.find("\r\n\r\n");
        if (head != std::string::npos) {
            const std::size_t field = text.find("Content-Length: ");
            if (!text.starts_with("HTTP/1.1 200 ") || field > head)
                throw std::runtime_error("an answer is: " + text.substr(0, 200));
            if (text.size() >= head + 4 + std::strtoul(text.c_str() + field + 16, nullptr, 10))
                return;
        }
        char buffer[4096];
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got < 0)
            fail("recv");
        if (got == 0)
            throw std::runtime_error("a connection ended instead of an answer");
        text.append(buffer, static_cast<std::size_t>(got));
    }
}

/// Opens connections into `held`; says why not all of them, or nothing.
std::string open_all(const settings& asked, std::vector<int>& held) {
    const std::string request = "GET " + asked.path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    std::string why;
    std::size_t answered = 0;
    held.reserve(asked.connections);
    try {
        while (held.size() < asked.connections) {
            if (held.size() % look_every == 0 && available_mib() < asked.memory_floor_mib)
                throw no_more("no more memory");
            held.push_back(open_connection(asked, static_cast<unsigned>(held.size())));
            ask(held.back(), request);
            if (held.size() - answered > ahead)
                read_answer(held[answered++]);
        }
    } catch (const no_more& reason) {
        why = reason.what();
    }
    while (answered < held.size())
        read_answer(held[answered++]);
    return why;
}

bool is_open(int fd) {
    char byte = 0;
    return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

int read_command_line(int argc, char** argv, settings& into) {
    CLI::App app("Opens connections to 127.0.0.1, asks once over each, and holds them until its "
                 "input ends.",
                 "rota-crowd");
    app.add_option("--port", into.port, "Where the server listens")->required();
    app.add_option("--connections", into.connections, "How many")->check(CLI::Range(1, 4'000'000));
    app.add_option("--first", into.first, "They come from 127.FIRST.0.1 and up")
        ->check(CLI::Range(0, 254));
    app.add_option("--memory-floor", into.memory_floor_mib,
                   "Stop where less than so many MiB are available");
    app.add_option("--path", into.path, "What to ask for");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return -1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        settings asked;
        if (const int code = read_command_line(argc, argv, asked); code >= 0)
            return code;
        std::vector<int> held;
        const std::string why = open_all(asked, held);
        std::printf("{\"held\": %zu, \"why_no_more\": \"%s\"}\n", held.size(), why.c_str());
        std::fflush(stdout);
        while (std::getchar() != EOF) {
        }
        const auto kept = std::count_if(held.begin(), held.end(), is_open);
        std::printf("{\"lost\": %zu}\n", held.size() - static_cast<std::size_t>(kept));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rota-crowd: %s\n", error.what());
        return 1;
    }
    return 0;
}
