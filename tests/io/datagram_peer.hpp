#pragma once

// What the tests of datagrams share: a socket of plain system calls, and one of ours in a routine.

#include <future>
#include <string>
#include <string_view>
#include <utility>

#include <rota/io/datagram_socket.hpp>

#include "support.hpp"

namespace rota::io::test {

/// Blocks, but not for ever.
class datagram_peer {
public:
    explicit datagram_peer(const endpoint& at = endpoint::ip("127.0.0.1", 0))
        : socket_(::socket(at.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_storage bound{};
        socklen_t length = sizeof bound;
        if (::bind(socket_.fd(), at.address(), at.length()) != 0 ||
            ::getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&bound), &length) != 0)
            throw std::system_error(errno, std::system_category(), "datagram_peer");
        where_ = endpoint::from(reinterpret_cast<sockaddr*>(&bound), length);
    }
    [[nodiscard]] const endpoint& where() const noexcept { return where_; }
    [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

    void send(const endpoint& to, std::string_view bytes) const {
        const auto sent = ::sendto(fd(), bytes.data(), bytes.size(), 0, to.address(), to.length());
        if (sent != static_cast<ssize_t>(bytes.size()))
            throw std::system_error(errno, std::system_category(), "datagram_peer: send");
    }
    [[nodiscard]] std::string receive() const { return receive_from().first; }
    [[nodiscard]] std::pair<std::string, endpoint> receive_from() const {
        std::string bytes(65'536, '\0');
        sockaddr_storage name{};
        for (;;) {
            socklen_t length = sizeof name;
            const ssize_t got = ::recvfrom(fd(), bytes.data(), bytes.size(), 0,
                                           reinterpret_cast<sockaddr*>(&name), &length);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                throw std::system_error(errno, std::system_category(), "datagram_peer: receive");
            bytes.resize(static_cast<std::size_t>(got));
            return {bytes, endpoint::from(reinterpret_cast<sockaddr*>(&name), length)};
        }
    }

private:
    peer socket_;
    endpoint where_;
};

/// A routine with a socket of ours, and where that is.
struct bound_routine {
    using body = std::function<task<void>(datagram_socket)>;

    explicit bound_routine(context& ctx, body then, datagram_options options = {},
                           const endpoint& at = endpoint::ip("127.0.0.1", 0))
        : routine(ctx.workers().spawn(run(&ctx, at, options, std::move(then), &told_),
                                      {.name = "bound", .report_errors = false})),
          where(told_.get_future().get()) {}

private:
    static task<void> run(context* ctx, endpoint at, datagram_options options, body then,
                          std::promise<endpoint>* told) {
        datagram_socket socket = co_await datagram_socket::bind(*ctx, at, options);
        told->set_value(socket.local());
        task<void> going_on = then(std::move(socket));
        co_await std::move(going_on);
    }
    std::promise<endpoint> told_;

public:
    routine_ptr routine;
    endpoint where;
};

inline bool has_ipv6() {
    const peer p(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const endpoint any = endpoint::ip("::1", 0);
    return ::bind(p.fd(), any.address(), any.length()) == 0;
}

/// Sends back what it receives, until it is drained or stopped.
inline task<void> echo_datagrams(datagram_socket socket) {
    while (auto batch = co_await socket.receive()) {
        for (const datagram& d : *batch)
            socket.queue(d.from(), d.bytes());
        co_await socket.flush();
    }
}

} // namespace rota::io::test
