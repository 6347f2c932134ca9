// The yardstick of the machine: the least that an HTTP answer costs here, not a product.
//
// One thread and one io_uring: multishot accept, multishot receive into provided buffers, and one
// send for all answers that a connection is owed. It looks for the empty line behind a head and for
// nothing else, and answers each with the same bytes, as many as rota-http has for /plaintext, so a
// server that parses, routes, tells the time and keeps limits can be judged by how near it comes.
// What it leaves out on purpose: methods, content, errors, time limits, a date that is true.
//
//   rota-floor PORT      listens on 127.0.0.1 until it is killed

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.hpp"

namespace {

using floor_bench::answer;

constexpr std::size_t answers_per_send = 64;
constexpr unsigned ring_entries = 1024;
constexpr unsigned buffer_count = 512; // a power of two
constexpr std::size_t buffer_bytes = 2048;

[[noreturn]] void die(const char* what, int error) {
    std::fprintf(stderr, "rota-floor: %s: %s\n", what, std::strerror(error));
    std::exit(1);
}

/// What a completion belongs to, in user_data beside the descriptor.
enum class kind : std::uint8_t { accept, receive, send, writable };

void tag(io_uring_sqe* sqe, kind what, int fd) {
    sqe->user_data = static_cast<std::uint64_t>(fd) << 2U | static_cast<std::uint64_t>(what);
}

struct connection {
    std::uint64_t owed = 0;    // bytes of answers that have not been sent
    std::size_t offset = 0;    // in the answer, of the next of them
    std::size_t last_send = 0; // bytes
    floor_bench::head_counter heads;
    bool receiving = false;
    bool listed = false;  // in due_
    bool waiting = false; // for room to send
    bool failed = false;
};

/// Buffers that the kernel takes from a ring of its own and that go back when they have been read.
class receive_buffers {
public:
    explicit receive_buffers(io_uring& ring) : memory_(buffer_count * buffer_bytes) {
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(entries.data());
        registration.ring_entries = buffer_count;
        if (const int result = ::io_uring_register_buf_ring(&ring, &registration, 0); result < 0)
            die("io_uring_register_buf_ring", -result);
        for (unsigned i = 0; i < buffer_count; ++i)
            give_back(i);
        publish();
    }

    const char* data(unsigned buffer) const { return memory_.data() + buffer * buffer_bytes; }

    void give_back(unsigned buffer) {
        io_uring_buf& entry = entries[tail_++ & (buffer_count - 1)];
        entry.addr = reinterpret_cast<std::uintptr_t>(data(buffer));
        entry.len = buffer_bytes;
        entry.bid = static_cast<std::uint16_t>(buffer);
    }

    /// The kernel's tail is where the first entry has its reserved bytes.
    void publish() { io_uring_smp_store_release(&entries[0].resv, tail_); }

private:
    alignas(4096) inline static std::array<io_uring_buf, buffer_count> entries{};
    std::vector<char> memory_;
    std::uint16_t tail_ = 0;
};

io_uring make_ring() {
    io_uring ring{};
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                   IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CQSIZE;
    params.cq_entries = ring_entries * 4;
    if (const int result = ::io_uring_queue_init_params(ring_entries, &ring, &params); result < 0)
        die("io_uring_setup", -result);
    return ring;
}

class floor_server {
public:
    explicit floor_server(int listener) : listener_(listener), ring_(make_ring()), buffers_(ring_) {
        for (std::size_t i = 0; i < answers_per_send; ++i)
            answers_ += answer;
    }

    [[noreturn]] void run() {
        accept_more();
        for (;;) {
            const bool idle =
                due_.empty() && std::ranges::none_of(leaving_, [&](int fd) { return is_done(fd); });
            const int result = ::io_uring_submit_and_wait(&ring_, idle ? 1 : 0);
            if (result < 0 && result != -EINTR && result != -EBUSY && result != -EAGAIN)
                die("io_uring_enter", -result);
            unsigned head = 0;
            unsigned seen = 0;
            io_uring_cqe* cqe = nullptr;
            io_uring_for_each_cqe(&ring_, head, cqe) {
                ++seen;
                take(*cqe);
            }
            ::io_uring_cq_advance(&ring_, seen);
            buffers_.publish();
            std::erase_if(leaving_, [&](int fd) { return is_done(fd) && ::close(fd) == 0; });
            send_what_is_due();
        }
    }

private:
    io_uring_sqe* next_sqe() {
        io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
        while (sqe == nullptr) {
            if (const int result = ::io_uring_submit(&ring_); result == -EBUSY || result == -EAGAIN)
                ::io_uring_get_events(&ring_);
            sqe = ::io_uring_get_sqe(&ring_);
        }
        return sqe;
    }

    void take(const io_uring_cqe& cqe) {
        const int fd = static_cast<int>(cqe.user_data >> 2U);
        const auto what = static_cast<kind>(cqe.user_data & 3U);
        if (what == kind::accept) {
            accepted(cqe);
        } else if (what == kind::receive) {
            received(fd, cqe);
        } else if (what == kind::send) {
            fell_short(fd, cqe.res);
        } else {
            of(fd).waiting = false;
            list(fd);
        }
    }

    void accept_more() {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_multishot_accept(sqe, listener_, nullptr, nullptr, SOCK_CLOEXEC);
        tag(sqe, kind::accept, listener_);
    }

    void accepted(const io_uring_cqe& cqe) {
        if (cqe.res >= 0) {
            const auto index = static_cast<std::size_t>(cqe.res);
            if (index >= connections_.size())
                connections_.resize(index * 2 + 1);
            connections_[index] = {};
            receive_more(cqe.res);
        } else if (cqe.res != -ECONNABORTED) {
            die("accept", -cqe.res);
        }
        if ((cqe.flags & IORING_CQE_F_MORE) == 0)
            accept_more();
    }

    void receive_more(int fd) {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_recv_multishot(sqe, fd, nullptr, 0, 0);
        tag(sqe, kind::receive, fd);
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->buf_group = 0; // the only one
        of(fd).receiving = true;
    }

    void received(int fd, const io_uring_cqe& cqe) {
        connection& client = of(fd);
        client.receiving = (cqe.flags & IORING_CQE_F_MORE) != 0;
        if (cqe.res > 0) {
            const unsigned buffer = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
            const auto length = static_cast<std::size_t>(cqe.res);
            client.owed += client.heads.count({buffers_.data(buffer), length}) * answer.size();
            buffers_.give_back(buffer);
            if (client.failed)
                client.owed = 0;
            else if (client.owed > 0 && !client.waiting)
                list(fd);
        }
        if (client.receiving)
            return;
        if (cqe.res > 0 || cqe.res == -ENOBUFS)
            receive_more(fd);
        else
            leaving_.push_back(fd);
    }

    void list(int fd) {
        if (!of(fd).listed)
            due_.push_back(fd);
        of(fd).listed = true;
    }

    /// A send ends while it is submitted (MSG_DONTWAIT), and is heard of only if it was not whole.
    void send_what_is_due() {
        sending_.swap(due_);
        for (const int fd : sending_) {
            connection& client = of(fd);
            client.listed = false;
            if (client.waiting || client.owed == 0)
                continue;
            client.last_send = std::min<std::size_t>(client.owed, answers_.size() - client.offset);
            io_uring_sqe* const sqe = next_sqe();
            ::io_uring_prep_send(sqe, fd, answers_.data() + client.offset, client.last_send,
                                 MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL);
            sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
            tag(sqe, kind::send, fd);
            client.owed -= client.last_send;
            client.offset = (client.offset + client.last_send) % answer.size();
            if (client.owed > 0)
                list(fd);
        }
        sending_.clear();
    }

    void fell_short(int fd, int result) {
        connection& client = of(fd);
        if (result < 0 && result != -EAGAIN) {
            client.failed = true;
            client.owed = 0;
            ::shutdown(fd, SHUT_RDWR); // ends the receive
            return;
        }
        const std::size_t rest = client.last_send - static_cast<std::size_t>(std::max(result, 0));
        client.owed += rest;
        client.offset = (client.offset + answers_.size() - rest) % answer.size();
        client.waiting = true;
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_poll_add(sqe, fd, POLLOUT);
        tag(sqe, kind::writable, fd);
    }

    /// Owed nothing, or takes nothing.
    bool is_done(int fd) { return of(fd).failed || (of(fd).owed == 0 && !of(fd).waiting); }

    connection& of(int fd) { return connections_[static_cast<std::size_t>(fd)]; }

    int listener_;
    io_uring ring_;
    receive_buffers buffers_;
    std::string answers_;
    std::vector<connection> connections_; // by descriptor
    std::vector<int> due_;                // to send to; each once
    std::vector<int> sending_;            // those of this turn
    std::vector<int> leaving_;            // those that send no more
};

int listen_on(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); // accepted sockets inherit it
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd, 4096) != 0)
        die("listen", errno);
    return fd;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view text = argc == 2 ? argv[1] : "";
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port == 0) {
        std::fputs("usage: rota-floor PORT\n", stderr);
        return 2;
    }
    floor_server(listen_on(port)).run();
}
