#pragma once

// What the tests with real sockets share: the kinds of reactor, a peer of plain system calls,
// a server that runs.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <fcntl.h>
#include <poll.h>
#include <rota/io/connection.hpp>
#include <rota/io/context.hpp>
#include <rota/io/listener.hpp>
#include <rota/io/server.hpp>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "backend.hpp"
#include "becomes.hpp"

namespace rota::io::test {

struct combination {
    backend_kind backend;
    io::topology topology;
};

inline std::ostream& operator<<(std::ostream& out, const combination& c) {
    return out << to_string(c.backend) << ", " << to_string(c.topology);
}

/// Whether io_uring can be used here. Where it cannot, the log of the test says so and why.
inline bool has_io_uring() {
    static const std::string missing = why_no_uring();
    if (!missing.empty())
        WARN("skipped for io_uring: " << missing);
    return missing.empty();
}

inline std::vector<combination> combinations() {
    std::vector<combination> all;
    for (const topology t : {topology::split, topology::per_worker, topology::dedicated}) {
        all.push_back({backend_kind::epoll, t});
        if (has_io_uring())
            all.push_back({backend_kind::io_uring, t});
    }
    return all;
}

/// Runs the test case for every combination.
inline combination each_combination() { return GENERATE(from_range(combinations())); }

inline context_options options_for(combination how, std::size_t workers = 2) {
    context_options o;
    o.workers = workers;
    o.reactor.backend = how.backend;
    o.reactor.topology = how.topology;
    o.reactor.ring_entries = 256;
    return o;
}

inline std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1; // its own
}

/// For routines: what a test requires there ends the routine, and the test case with it.
inline void expect(bool holds, std::string_view what) {
    if (!holds)
        throw std::logic_error("not so: " + std::string(what));
}

/// The errno value that it fails with, or 0.
inline task<int> error_of(task<void> failing) {
    try {
        co_await std::move(failing);
        co_return 0;
    } catch (const std::system_error& e) {
        co_return e.code().value();
    }
}

/// Waits for the routine and rethrows what ended it.
inline void finish(const routine_ptr& r) {
    r->wait_stopped();
    if (r->error())
        std::rethrow_exception(r->error());
}

/// A blocking socket of plain system calls, that no wait of can last for ever.
class peer {
public:
    explicit peer(int fd) : fd_(fd) {
        if (fd < 0)
            throw std::system_error(errno, std::system_category(), "peer");
        const timeval limit{.tv_sec = 40, .tv_usec = 0};
        ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    explicit peer(const endpoint& to) : peer(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (const int error = try_connect(to); error != 0)
            throw std::system_error(error, std::system_category(), "connect");
    }
    peer(peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    peer& operator=(peer&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~peer() { close(); }

    [[nodiscard]] int fd() const noexcept { return fd_; }
    /// 0 or an errno value.
    int try_connect(const endpoint& to) {
        if (::connect(fd_, to.address(), to.length()) == 0)
            return 0;
        if (errno != EINTR)
            return errno;
        // It goes on by itself. (Not restarted by the kernel, because there is a time limit.)
        pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
        while (::poll(&ready, 1, 40'000) < 0 && errno == EINTR) {
        }
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
        return error;
    }
    void close() noexcept {
        if (fd_ >= 0)
            ::close(std::exchange(fd_, -1));
    }
    void reset() noexcept {
        const linger now{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        close();
    }
    void shutdown_write() const noexcept { ::shutdown(fd_, SHUT_WR); }

    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR)
                continue;
            if (sent < 0)
                throw std::system_error(errno, std::system_category(), "peer: send");
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    /// As much as goes in without waiting.
    std::size_t send_now(std::string_view bytes) const {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        return sent < 0 ? 0 : static_cast<std::size_t>(sent);
    }
    /// At least one byte; empty at the end of the stream.
    [[nodiscard]] std::string receive(std::size_t max = 65536) const {
        std::string bytes(max, '\0');
        const ssize_t got = ::recv(fd_, bytes.data(), max, 0);
        if (got < 0 && errno == EINTR)
            return receive(max);
        if (got < 0)
            throw std::system_error(errno, std::system_category(), "peer: receive");
        bytes.resize(static_cast<std::size_t>(got));
        return bytes;
    }
    /// Fewer bytes only at the end of the stream.
    [[nodiscard]] std::string receive_exactly(std::size_t count) const {
        std::string bytes;
        while (bytes.size() < count) {
            const std::string piece = receive(count - bytes.size());
            if (piece.empty())
                break;
            bytes += piece;
        }
        return bytes;
    }
    [[nodiscard]] std::string receive_all() const {
        std::string bytes;
        for (;;) {
            const std::string piece = receive();
            if (piece.empty())
                return bytes;
            bytes += piece;
        }
    }
    /// The errno value with which receiving fails, or 0 at the end of the stream.
    [[nodiscard]] int receive_error() const {
        char byte = 0;
        for (;;) {
            const ssize_t got = ::recv(fd_, &byte, 1, 0);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                return got == 0 ? 0 : errno;
        }
    }

private:
    int fd_;
};

/// Listens by plain system calls.
class plain_listener {
public:
    explicit plain_listener(const endpoint& at = endpoint::ip("127.0.0.1", 0),
                            int backlog = SOMAXCONN)
        : socket_(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_storage bound{};
        socklen_t length = sizeof bound;
        const int yes = 1; // or the kernel finds no port where many connections have just ended
        ::setsockopt(socket_.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (::bind(socket_.fd(), at.address(), at.length()) != 0 ||
            ::listen(socket_.fd(), backlog) != 0 ||
            ::getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&bound), &length) != 0)
            throw std::system_error(errno, std::system_category(), "plain_listener");
        where_ = endpoint::from(reinterpret_cast<sockaddr*>(&bound), length);
    }
    [[nodiscard]] const endpoint& where() const noexcept { return where_; }
    [[nodiscard]] int fd() const noexcept { return socket_.fd(); }
    [[nodiscard]] peer accept() const {
        for (;;) {
            const int fd = ::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
            if (fd >= 0 || errno != EINTR)
                return peer(fd);
        }
    }

private:
    peer socket_;
    endpoint where_;
};

inline auto soon(std::chrono::nanoseconds length) {
    return std::chrono::steady_clock::now() + length;
}

/// A routine with a connection, and the other end of it.
struct wired {
    routine_ptr routine;
    peer other;
};

using connection_body = std::function<task<void>(connection)>;

inline wired wire(context& ctx, connection_body body, worker* on = nullptr) {
    constexpr auto run = [](context* c, endpoint to, connection_body then) -> task<void> {
        connection mine = co_await connect(*c, to);
        co_await then(std::move(mine));
    };
    const plain_listener listening;
    routine_ptr r = ctx.workers().spawn(run(&ctx, listening.where(), std::move(body)),
                                        {.name = "wired", .on = on, .report_errors = false});
    return {.routine = std::move(r), .other = listening.accept()};
}

/// A server that runs until the end of the scope.
class serving {
public:
    using tuning = std::function<void(context_options&, server_options&)>;

    serving(combination how, server::handler on_client, const tuning& tune = {})
        : serving(tuned(how, tune), std::move(on_client)) {}
    ~serving() {
        s.drain();
        s.drain();
        runner->wait_stopped();
    }
    [[nodiscard]] peer dial() const { return peer(where); }

private:
    struct all_options {
        context_options c;
        server_options s;
    };
    static all_options tuned(combination how, const tuning& tune) {
        all_options o{.c = options_for(how), .s = {.listen = {endpoint::ip("127.0.0.1", 0)}}};
        if (tune)
            tune(o.c, o.s);
        return o;
    }
    serving(all_options o, server::handler on_client)
        : ctx(std::move(o.c)), s(ctx, std::move(on_client), std::move(o.s)),
          runner(ctx.workers().spawn(s.run(), {.name = "server", .report_errors = false})) {
        const auto bound = s.listening();
        if (bound.empty())
            finish(runner);
        where = bound.front();
    }

public:
    context ctx;
    server s;
    routine_ptr runner;
    endpoint where;
};

/// Sends back what it receives.
inline task<void> echo(connection client) {
    while ([[maybe_unused]] const bool more = co_await client.fill()) {
        const std::string_view arrived = client.buffered();
        co_await client.write(arrived);
        client.consume(arrived.size());
    }
}

/// `size` bytes that betray any that is lost, doubled or out of place.
inline std::string pattern(std::size_t size) {
    // Made once: each byte of it takes a sanitizer long.
    static std::mutex one_at_a_time;
    static std::string bytes;
    static int next = 0;
    const std::lock_guard guard(one_at_a_time);
    while (bytes.size() < size)
        bytes += std::to_string(next++) + ' ';
    return bytes.substr(0, size);
}

/// Returns once some routine of that name waits for `what`; looks again and again.
inline void await_blocked(context& ctx, std::string_view name, std::string_view what) {
    const bool waits = becomes([&] {
        const auto blocked = ctx.workers().blocked();
        return std::ranges::any_of(
            blocked, [&](const blocked_routine& b) { return b.name == name && b.what == what; });
    });
    if (!waits)
        throw std::logic_error("no routine came to wait for " + std::string(what));
}

} // namespace rota::io::test
