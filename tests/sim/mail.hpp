#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "network.hpp"

namespace sim {

/// Datagrams between the server's sockets and its clients, all of 127.0.0.1. Each goes its own way,
/// and none is lost but by a system call that says so. The system calls of the code under test end
/// here (calls.cpp).
class mail final : public actor {
public:
    struct letter {
        std::uint16_t from = 0;
        std::uint16_t to = 0;
        std::string bytes;
    };

    explicit mail(network& n);
    ~mail() override;

    /// How well it goes, for this run. Without it there is none.
    void draw(random& r);

    // -- the server's side: results as of the system calls, -errno for a failure
    int receive(int fd, mmsghdr* all, unsigned count);
    int send(int fd, const mmsghdr* all, unsigned count);
    [[nodiscard]] bool can_receive(const descriptor& d) const { return !d.letters.empty(); }
    [[nodiscard]] bool can_send(int fd) const;

    // -- the clients' side
    void send(letter l);
    [[nodiscard]] std::deque<letter>& inbox(std::uint16_t port) { return inboxes_[port]; }
    /// Answers that a system call has refused for good.
    [[nodiscard]] std::size_t refused() const noexcept { return refused_; }

    // -- the actor
    [[nodiscard]] time_point due() override;
    void step() override;
    [[nodiscard]] std::string_view name() const override { return "mail"; }

private:
    struct on_its_way {
        letter what;
        int out_of; // the server's descriptor, or none
        time_point due;
    };

    int send_one(int fd, const msghdr& message);
    void set_out(letter l, int out_of);
    void deliver(letter l);

    network& net_;
    nanoseconds delay_max_{0};
    std::size_t room_ = 0; // letters on their way out of one socket
    unsigned receive_failures_ = 0;
    unsigned send_failures_ = 0;
    bool rows_ = true; // UDP_SEGMENT
    std::size_t refused_ = 0;
    std::vector<on_its_way> under_way_;
    std::map<std::uint16_t, std::deque<letter>> inboxes_;
};

} // namespace sim
