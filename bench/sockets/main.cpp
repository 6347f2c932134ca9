// rota-sockets: messages over WebSockets, from one thread, as fast as they come back.
//
// Each connection keeps so many messages under way and sends a new one for each that has come back.
// As a chat, the first connection sends one, and the next when all others have received it. Each
// message that comes must be what was sent. A line of JSON in the end; what the warm-up has seen is
// counted apart.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "address.hpp"
#include "clock.hpp"
#include "histogram.hpp"

namespace {

using pace::nanoseconds;

constexpr nanoseconds warmup = 300'000'000;
constexpr int patience_ms = 5'000;
constexpr std::size_t upgrade_bytes_max = 4'096;
constexpr std::size_t small_max = 125; // bytes of a message whose length fits its second byte
constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ=="; // RFC 6455 section 1.3, so is its
constexpr std::string_view accepted = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="; // answer

struct settings {
    std::string port;
    std::string path = "/ws/echo";
    std::size_t connections = 64;
    std::size_t depth = 1;
    std::size_t bytes = 64;
    std::int64_t seconds = 3;
    bool chat = false;
};

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::system_category(), what);
}

void wait_for(int fd, short events) {
    pollfd one{.fd = fd, .events = events, .revents = 0};
    if (::poll(&one, 1, patience_ms) != 1)
        throw std::runtime_error("the server does not answer");
}

void send_all(int fd, std::string_view data) {
    while (!data.empty()) {
        const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
        if (sent >= 0)
            data.remove_prefix(static_cast<std::size_t>(sent));
        else if (errno == EAGAIN)
            wait_for(fd, POLLOUT);
        else
            fail("send");
    }
}

/// A text message from a client (RFC 6455 section 5.2), masked by a key that is the same always.
std::string masked_frame(std::size_t bytes) {
    constexpr std::array<char, 4> mask{'\x12', '\x34', '\x56', '\x78'};
    std::string frame{'\x81', static_cast<char>(0x80 | bytes)};
    frame.append(mask.data(), mask.size());
    for (std::size_t i = 0; i < bytes; ++i)
        frame += static_cast<char>('x' ^ mask[i % mask.size()]);
    return frame;
}

std::string plain_frame(std::size_t bytes) {
    return std::string{'\x81', static_cast<char>(bytes)} + std::string(bytes, 'x');
}

/// A client of a WebSocket; closed in the end.
class client {
public:
    client(const pace::address& to, const settings& asked) : fd_(to.connect()) {
        send_all(fd_, fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUpgrade: websocket\r\n"
                                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: {}\r\n\r\n",
                                  asked.path, asked.port, key));
        std::string answer;
        while (!answer.ends_with("\r\n\r\n")) {
            char next = 0; // byte by byte: a message may be behind it
            wait_for(fd_, POLLIN);
            if (::recv(fd_, &next, 1, 0) != 1 || answer.size() == upgrade_bytes_max)
                throw std::runtime_error("no upgrade: " + answer.substr(0, 100));
            answer += next;
        }
        if (!answer.starts_with("HTTP/1.1 101 ") || answer.find(accepted) == answer.npos)
            throw std::runtime_error("no upgrade: " + answer.substr(0, 100));
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { ::close(fd_); }

    [[nodiscard]] int fd() const noexcept { return fd_; }

    /// How many messages, all of them `expected`, have come. What is there of the next is kept.
    std::size_t receive(std::string_view expected) {
        std::array<char, 65'536> room; // NOLINT(cppcoreguidelines-pro-type-member-init)
        const ssize_t got = ::recv(fd_, room.data(), room.size(), 0);
        if (got < 0 && errno == EAGAIN)
            return 0;
        if (got <= 0)
            throw std::runtime_error("the server has closed a connection");
        std::size_t messages = 0;
        for (std::string_view data(room.data(), static_cast<std::size_t>(got)); !data.empty();) {
            const std::string_view part = data.substr(0, expected.size() - of_next_);
            if (part != expected.substr(of_next_, part.size()))
                throw std::runtime_error("another message came than was sent");
            data.remove_prefix(part.size());
            of_next_ += part.size();
            if (of_next_ == expected.size()) {
                of_next_ = 0;
                ++messages;
            }
        }
        return messages;
    }

    std::deque<nanoseconds> sent_at; // of the messages under way

private:
    const int fd_;
    std::size_t of_next_ = 0; // bytes
};

struct counts {
    pace::histogram latency; // in nanoseconds
    std::uint64_t warmup = 0;
    nanoseconds begin = 0; // of what counts

    void add(nanoseconds sent, nanoseconds now) noexcept {
        if (now < begin)
            ++warmup;
        else
            latency.add(static_cast<std::uint64_t>(now - sent));
    }
};

class run {
public:
    explicit run(const settings& asked)
        : asked_(asked), epoll_(::epoll_create1(EPOLL_CLOEXEC)), message_(plain_frame(asked.bytes)),
          to_send_(masked_frame(asked.bytes)) {
        if (epoll_ < 0)
            fail("epoll_create1");
        const pace::address to("127.0.0.1", asked.port);
        for (std::size_t i = 0; i < asked.connections; ++i) {
            client& each = clients_.emplace_back(to, asked);
            epoll_event event{.events = EPOLLIN, .data = {.ptr = &each}};
            if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, each.fd(), &event) != 0)
                fail("epoll_ctl");
        }
    }
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run() { ::close(epoll_); }

    counts measure() {
        counts seen;
        seen.begin = pace::now() + warmup;
        const nanoseconds end = seen.begin + asked_.seconds * pace::second;
        if (asked_.chat) {
            say();
        } else {
            for (client& each : clients_)
                send(each, asked_.depth);
        }
        std::array<epoll_event, 256> events{};
        while (pace::now() < end) {
            const int ready = ::epoll_wait(epoll_, events.data(), events.size(), patience_ms);
            if (ready == 0 || (ready < 0 && errno != EINTR))
                throw std::runtime_error("the server does not answer");
            for (int i = 0; i < ready; ++i)
                take(*static_cast<client*>(events[static_cast<std::size_t>(i)].data.ptr), seen);
        }
        return seen;
    }

private:
    void send(client& from, std::size_t messages) {
        batch_.clear();
        for (std::size_t i = 0; i < messages; ++i)
            batch_ += to_send_;
        from.sent_at.insert(from.sent_at.end(), messages, pace::now());
        send_all(from.fd(), batch_);
    }

    /// To all others, each of which is to receive it before the next one.
    void say() {
        said_at_ = pace::now();
        to_receive_ = clients_.size() - 1;
        send_all(clients_.front().fd(), to_send_);
    }

    void take(client& at, counts& seen) {
        const std::size_t messages = at.receive(message_);
        const nanoseconds now = pace::now();
        if (asked_.chat) {
            for (std::size_t i = 0; i < messages; ++i)
                seen.add(said_at_, now);
            if (messages > to_receive_ || (messages != 0 && &at == &clients_.front()))
                throw std::runtime_error("a message came twice, or back");
            to_receive_ -= messages;
            if (to_receive_ == 0)
                say();
            return;
        }
        if (messages > at.sent_at.size())
            throw std::runtime_error("a message came twice");
        for (std::size_t i = 0; i < messages; ++i) {
            seen.add(at.sent_at.front(), now);
            at.sent_at.pop_front();
        }
        if (messages != 0)
            send(at, messages);
    }

    const settings& asked_;
    const int epoll_;
    const std::string message_;
    const std::string to_send_;
    std::deque<client> clients_;
    std::string batch_;
    nanoseconds said_at_ = 0;
    std::size_t to_receive_ = 0;
};

void report(const settings& asked, const counts& seen) {
    const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
    const pace::histogram& latency = seen.latency;
    fmt::print(R"({{"count": {}, "warmup_count": {}, "rate": {:.1f}, "p50_us": {:.1f}, )"
               R"("p99_us": {:.1f}, "p999_us": {:.1f}, "max_us": {:.1f}}})"
               "\n",
               latency.count(), seen.warmup,
               static_cast<double>(latency.count()) / static_cast<double>(asked.seconds),
               us(latency.percentile(50)), us(latency.percentile(99)), us(latency.percentile(99.9)),
               us(latency.max()));
}

} // namespace

int main(int argc, char** argv) {
    settings asked;
    CLI::App app("Messages over WebSockets to a server on this machine.", "rota-sockets");
    app.add_option("--port", asked.port, "where the server listens")->required();
    app.add_option("--path", asked.path, "of the WebSocket")->capture_default_str();
    app.add_option("--connections", asked.connections)->check(CLI::Range(1, 1'000'000));
    app.add_option("--depth", asked.depth, "messages under way over each")
        ->check(CLI::Range(1, 1'024));
    app.add_option("--bytes", asked.bytes, "of a message")->check(CLI::Range(1UL, small_max));
    app.add_option("--seconds", asked.seconds)->check(CLI::Range(1, 3'600));
    app.add_flag("--chat", asked.chat, "what the first one sends comes to all others");
    CLI11_PARSE(app, argc, argv);
    try {
        if (asked.chat && asked.connections < 2)
            throw std::runtime_error("a chat has two clients at least");
        report(asked, run(asked).measure());
    } catch (const std::exception& error) {
        fmt::print(stderr, "rota-sockets: {}\n", error.what());
        return 1;
    }
    return 0;
}
