// rota-crowd: opens many connections, asks once over each, and holds them until its input ends.
//
// The connections come from the addresses 127.FIRST.0.1, 127.FIRST.0.2, ..., so many from each that
// their ports suffice. A few are opened ahead of the answers. As WebSockets they also answer the
// server's pings. Lines of JSON: when all are held {"held", "why_no_more"}; for each line "ask N"
// of the input {"asked", "seconds"}, once N of them, spread over all, have spoken at once and been
// answered; for a line "count", and at the end, {"lost"}: those that the server did not keep.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
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
    std::string path;
    bool websockets = false;
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

void send_all(int fd, std::string_view bytes) {
    if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
        fail("send");
}

/// Appends what there is, or waits for it. False if there is nothing yet (MSG_DONTWAIT).
bool receive(int fd, std::string& into, int flags = 0) {
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), flags);
    if (got < 0 && errno == EAGAIN && flags != 0)
        return false;
    if (got < 0)
        fail("recv");
    if (got == 0)
        throw std::runtime_error("a connection ended instead of an answer");
    into.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
}

/// Reads one answer of HTTP: a head with that status, and as much as its Content-Length says.
void read_answer(int fd, std::string_view status) {
    std::string text;
    for (;; receive(fd, text)) {
        const std::size_t head = text.find("\r\n\r\n");
        if (head == std::string::npos)
            continue;
        if (text.substr(9, 3) != status)
            throw std::runtime_error("an answer is: " + text.substr(0, 200));
        const std::size_t field = text.find("Content-Length: ");
        const std::size_t size =
            field < head ? std::strtoul(text.c_str() + field + 16, nullptr, 10) : 0;
        if (text.size() >= head + 4 + size)
            return;
    }
}

/// Answers pings and goodbyes in `text`, which is whole frames of at most 125 bytes each, and
/// counts messages.
unsigned take_frames(int fd, std::string_view text) {
    unsigned messages = 0;
    while (text.size() >= 2 && text.size() >= 2U + static_cast<unsigned char>(text[1])) {
        const auto size = static_cast<unsigned char>(text[1]);
        const auto kind = static_cast<unsigned char>(text[0]);
        if (kind == 0x88 || kind == 0x89) { // the mask is of zeros
            std::string answer{static_cast<char>(kind == 0x88 ? 0x88 : 0x8a),
                               static_cast<char>(0x80 | size),
                               0,
                               0,
                               0,
                               0};
            answer += text.substr(2, size);
            // If the connection has ended meanwhile, that is found later.
            (void)::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        } else {
            ++messages;
        }
        text.remove_prefix(2U + size);
    }
    return messages;
}

/// The connections, and how they speak.
class crowd {
public:
    explicit crowd(const settings& asked) : asked_(asked) {
        const std::string path = !asked.path.empty() ? asked.path
                                 : asked.websockets  ? "/ws/echo"
                                                     : "/plaintext";
        first_ = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n";
        if (asked.websockets) {
            first_ += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
            epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
            if (epoll_ < 0)
                fail("epoll_create1");
        }
        first_ += "\r\n";
    }

    /// Opens them; says why not all, or nothing.
    std::string open_all() {
        std::string why;
        std::size_t answered = 0;
        held_.reserve(asked_.connections);
        try {
            while (held_.size() < asked_.connections) {
                if (held_.size() % look_every == 0 && available_mib() < asked_.memory_floor_mib)
                    throw no_more("no more memory");
                held_.push_back(open_connection(asked_, static_cast<unsigned>(held_.size())));
                send_all(held_.back(), first_);
                if (held_.size() - answered > ahead)
                    welcome(held_[answered++]);
            }
        } catch (const no_more& reason) {
            why = reason.what();
        }
        while (answered < held_.size())
            welcome(held_[answered++]);
        return why;
    }

    /// So many of them, spread over all, ask at once; how long until the last has its answer.
    double ask(std::size_t count) {
        const std::string_view message{"\x81\x82\0\0\0\0hi", 8};
        const auto begin = std::chrono::steady_clock::now();
        const auto one = [&](std::size_t i) { return held_[i * held_.size() / count]; };
        for (std::size_t i = 0; i < count; ++i)
            send_all(one(i), asked_.websockets ? message : first_);
        for (std::size_t i = 0; i < count; ++i) {
            if (!asked_.websockets)
                read_answer(one(i), "200");
            while (asked_.websockets && !receive_message(one(i), 0)) {
            }
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

    [[nodiscard]] std::size_t size() const noexcept { return held_.size(); }
    /// How many the server has ended.
    [[nodiscard]] std::size_t lost() {
        while (asked_.websockets && answer_pings() > 0) {
        }
        return static_cast<std::size_t>(std::count_if(held_.begin(), held_.end(), [this](int fd) {
            const ssize_t got = peek(fd);
            return got > 0 ? !asked_.websockets : got == 0 || errno != EAGAIN; // that is a ping
        }));
    }

    /// Waits until there is something to read from the input.
    void wait_for_input() {
        std::array<pollfd, 2> both{pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                   pollfd{.fd = epoll_, .events = POLLIN, .revents = 0}};
        while (both[0].revents == 0) {
            if (::poll(both.data(), both.size(), -1) < 0 && errno != EINTR)
                fail("poll");
            if (both[1].revents != 0)
                answer_pings();
        }
    }

private:
    void welcome(int fd) {
        if (!asked_.websockets) {
            read_answer(fd, "200");
            return;
        }
        read_answer(fd, "101");
        epoll_event watched{.events = EPOLLIN | EPOLLET, .data = {.fd = fd}};
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &watched) != 0)
            fail("epoll_ctl");
        answer_pings();
    }

    /// How many connections had something to read.
    int answer_pings() {
        std::array<epoll_event, 256> events{};
        const int count = ::epoll_wait(epoll_, events.data(), events.size(), 0);
        for (int i = 0; i < count; ++i) {
            const int fd = events[static_cast<std::size_t>(i)].data.fd;
            if (peek(fd) > 0) // one that has ended is counted later
                receive_message(fd, MSG_DONTWAIT);
        }
        return count;
    }

    /// Whether a message has come.
    static bool receive_message(int fd, int flags) {
        std::string text;
        return receive(fd, text, flags) && take_frames(fd, text) > 0;
    }

    static ssize_t peek(int fd) {
        char byte = 0;
        return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    }

    const settings& asked_;
    std::string first_;
    std::vector<int> held_;
    int epoll_ = -1;
};

/// The next line of the input, or nothing at its end.
std::optional<std::string> read_line() {
    std::string line;
    for (char next = 0; ::read(STDIN_FILENO, &next, 1) == 1;) {
        if (next == '\n')
            return line;
        line += next;
    }
    return std::nullopt;
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
    app.add_option("--path", into.path, "What to ask for; default: /plaintext, /ws/echo");
    app.add_flag("--websockets", into.websockets, "They are WebSockets");
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
        crowd all(asked);
        const std::string why = all.open_all();
        std::printf("{\"held\": %zu, \"why_no_more\": \"%s\"}\n", all.size(), why.c_str());
        std::fflush(stdout);
        for (;;) {
            all.wait_for_input();
            const std::optional<std::string> line = read_line();
            if (line && line->starts_with("ask ")) {
                const std::size_t count = std::clamp<std::size_t>(
                    std::strtoul(line->c_str() + 4, nullptr, 10), 1, all.size());
                std::printf("{\"asked\": %zu, \"seconds\": %f}\n", count, all.ask(count));
            } else {
                std::printf("{\"lost\": %zu}\n", all.lost());
            }
            std::fflush(stdout);
            if (!line)
                break;
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rota-crowd: %s\n", error.what());
        return 1;
    }
    return 0;
}
