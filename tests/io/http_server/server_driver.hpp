#pragma once

// What the tests of whole servers share: a client of plain system calls, a server that runs.

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <rota/http/server.hpp>
#include <rota/io/context.hpp>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace rota::http {

/// A blocking client, as simple as can be.
class client {
public:
    explicit client(const io::endpoint& to)
        : fd_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        be_patient(std::chrono::seconds(20)); // for what never comes: a test fails, and goes on
        connected_ = ::connect(fd_, to.address(), to.length()) == 0;
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { ::close(fd_); }

    [[nodiscard]] bool connected() const { return connected_; }
    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR)
                continue;
            REQUIRE(sent > 0);
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }
    /// As far as the other side takes it.
    void try_send(std::string_view bytes) const {
        (void)!::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    /// How long the reads below wait.
    void be_patient(std::chrono::seconds for_how_long) const {
        const timeval patience{for_how_long.count(), 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    void finish() const { ::shutdown(fd_, SHUT_WR); }
    /// It ends by a reset.
    void end_by_reset() const {
        const linger none{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    }
    /// Reads until what has come ends in `end`, or the stream ends: "<end>" or, by a reset,
    /// "<error>" is behind what came then, and "<nothing>" if nothing comes any more.
    std::string read_to(std::string_view end) const { return read_pieces(end, 65'536); }
    /// The same, but takes nothing of what is behind that.
    std::string read_just_to(std::string_view end) const { return read_pieces(end, 1); }
    std::string read_all() const { return read_to("\xff no such end"); }

private:
    std::string read_pieces(std::string_view end, std::size_t piece) const {
        std::string all;
        std::array<char, 65'536> buffer;
        while (!all.ends_with(end)) {
            const ssize_t size = ::recv(fd_, buffer.data(), piece, 0);
            // A time limit makes the kernel's own work for this thread visible as EINTR (man 7
            // signal).
            if (size < 0 && errno == EINTR)
                continue;
            if (size <= 0)
                return all + (size == 0 ? "<end>" : errno == EAGAIN ? "<nothing>" : "<error>");
            all.append(buffer.data(), static_cast<std::size_t>(size));
        }
        return all;
    }

    int fd_;
    bool connected_ = false;
};

/// A server on a port of the system's choice, run by a thread of its own.
class running {
public:
    running(io::context& ctx, router routes, server_options options = {})
        : server_(ctx, std::move(routes), with_address(std::move(options))),
          thread_([this, &ctx] { ctx.block_on(server_.run()); }) {
        const auto where = server_.listening();
        REQUIRE(where.size() == 1);
        address_ = where[0];
    }
    ~running() { server_.drain(); }
    [[nodiscard]] const io::endpoint& address() const { return address_; }
    server& operator*() { return server_; }
    void drain_and_join() {
        server_.drain();
        thread_.join();
    }

private:
    static server_options with_address(server_options options) {
        options.listen.push_back(io::endpoint::ip("127.0.0.1", 0));
        return options;
    }
    server server_;
    io::endpoint address_;
    std::jthread thread_;
};

inline io::context_options two_workers(io::topology layout = io::topology::split) {
    io::context_options options;
    options.workers = 2;
    options.reactor.topology = layout;
    return options;
}

/// Both backends, and each topology of theirs. Where there is no io_uring, epoll stands in.
struct layout {
    io::backend_kind backend;
    io::topology topology;
};

inline layout each_layout() {
    using io::backend_kind;
    using io::topology;
    return GENERATE(layout{backend_kind::automatic, topology::split},
                    layout{backend_kind::automatic, topology::per_worker},
                    layout{backend_kind::automatic, topology::dedicated},
                    layout{backend_kind::epoll, topology::split},
                    layout{backend_kind::epoll, topology::per_worker},
                    layout{backend_kind::epoll, topology::dedicated});
}

inline io::context_options two_workers(const layout& how) {
    io::context_options options = two_workers(how.topology);
    options.reactor.backend = how.backend;
    return options;
}

inline std::ostream& operator<<(std::ostream& out, const layout& how) {
    return out << to_string(how.backend) << ", " << to_string(how.topology);
}

inline std::string get(std::string_view path, std::string_view more = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(more) + "\r\n";
}

} // namespace rota::http
