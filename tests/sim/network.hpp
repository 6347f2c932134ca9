#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "world.hpp"

namespace sim {

/// How bad the network and the machine are. Drawn for each seed.
struct weather {
    nanoseconds delay_max{0};        ///< of a piece on its way
    std::size_t piece_max = 4096;    ///< bytes that arrive at once
    std::size_t send_buffer = 4096;  ///< what the kernel takes of a connection's output
    std::size_t descriptors_max = 0; ///< beyond: EMFILE
    unsigned accept_failures = 0;    ///< of a thousand accepts
    unsigned receive_failures = 0;   ///< of a thousand receives: no memory, or ended for no reason
    unsigned send_failures = 0;      ///< of a thousand sends: no memory

    static weather draw(random& r);
};

/// A connection: what is on its way up to the server and down to the client, and what each end has
/// seen and done. The server's end is a descriptor, the client's a `peer`.
struct link {
    /// Bytes on their way, then perhaps the end of the stream.
    struct pipe {
        std::string under_way;
        std::string arrived;
        bool ends = false;  // behind what is under way
        bool ended = false; // and that has arrived
        time_point due{};   // when the next piece arrives
    };
    pipe up;
    pipe down;
    std::size_t client_room = 65536; // what the client's kernel takes before the client reads

    // -- the server's end
    bool accepted = false;
    bool reset_by_client = false; // the server sees ECONNRESET
    bool aborted = false;         // dissolved by the server
    bool receiving_shut = false;
    bool server_closed = false;

    // -- the client's end
    bool reset_by_server = false;
    bool client_closed = false;
    std::uint16_t client_port = 0;
};

/// A descriptor: a listening socket, the server's end of a link, or a socket of datagrams.
struct descriptor {
    bool datagrams = false;
    bool shares = false; // its port, with others of its kind (SO_REUSEPORT)
    std::deque<std::pair<std::uint16_t, std::string>> letters; // that have arrived: from, and what
    bool listening = false;
    bool shut = false; // a listener that takes no more
    std::uint16_t port = 0;
    std::deque<std::shared_ptr<link>> backlog;
    std::shared_ptr<link> connected;
    int armed = 0; // operations that are in the kernel
};

/// The machine's sockets and what is between them. The system calls of the code under test end
/// here (calls.cpp), as do its rings (backends.cpp) and its clients (peer.hpp).
class network final : public actor {
public:
    explicit network(const weather& w);
    ~network() override;

    [[nodiscard]] const weather& conditions() const noexcept { return weather_; }
    /// Pieces that arrive at once, and what the kernel takes, may be at least so large.
    void widen(std::size_t bytes) noexcept {
        weather_.piece_max = std::max(weather_.piece_max, bytes);
        weather_.send_buffer = std::max(weather_.send_buffer, bytes);
    }

    // -- the server's side: results as of the system calls, -errno for a failure
    int open_socket(bool datagrams);
    void share(int fd) { find(fd, "setsockopt")->shares = true; }
    /// Those of datagrams on a port.
    [[nodiscard]] std::vector<descriptor*> datagram_sockets(std::uint16_t port);
    int bind(int fd, std::uint16_t port);
    int listen(int fd);
    int accept(int fd);
    int shutdown(int fd, int how);
    int dissolve(int fd);
    int close(int fd);
    /// Null, and a failure of the run, if it is not open.
    descriptor* find(int fd, const char* call);
    [[nodiscard]] static bool is_mine(int fd) noexcept { return fd >= first_descriptor; }
    [[nodiscard]] std::size_t open_descriptors() const noexcept { return open_.size(); }
    /// Clients that have been accepted, and whose descriptor is open.
    [[nodiscard]] std::size_t accepted() const noexcept;
    /// Takes what there is room for. The bytes that it took, or -errno.
    int send(int fd, std::string_view bytes);
    [[nodiscard]] static bool can_send(const link& l, std::size_t buffer) noexcept;

    // -- the client's side
    /// Null if nobody listens there.
    std::shared_ptr<link> connect(std::uint16_t port);
    [[nodiscard]] bool listens(std::uint16_t port) const noexcept;
    void set_out(link& l, link::pipe& p);
    void reset_from_client(const std::shared_ptr<link>& l);
    void close_from_client(const std::shared_ptr<link>& l);

    /// A client waits to be accepted.
    [[nodiscard]] bool has_backlog() const noexcept;
    /// Nothing is on its way any more.
    [[nodiscard]] bool quiet() { return due() == never; }

    // -- the actor
    [[nodiscard]] time_point due() override;
    void step() override;
    [[nodiscard]] std::string_view name() const override { return "network"; }

private:
    static constexpr int first_descriptor = 1'000'000;

    int lowest_free() const noexcept;
    void deliver(link& l, link::pipe& p);
    [[nodiscard]] static bool moves(const link& l, const link::pipe& p) noexcept;
    [[nodiscard]] nanoseconds delay();

    weather weather_;
    std::map<int, descriptor> open_;
    std::vector<std::shared_ptr<link>> links_;
    std::uint16_t next_client_port_ = 40'000;
};

} // namespace sim
