#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <netinet/in.h>
#include <rota/io/datagram.hpp>
#include <rota/io/datagram_socket.hpp>
#include <sys/socket.h>

namespace rota::io {

/// The buffers that a datagram socket receives into, made once, and the system call that fills
/// them. The baton holder's.
class datagram_receiver {
public:
    explicit datagram_receiver(const datagram_options& options);

    /// Takes what there is into the buffers, in place of what was there: how many datagrams, 0 if
    /// there is none, -errno if it cannot be said. Errors that the network has told are skipped.
    int receive(int fd) noexcept;
    /// What the last receive() took.
    [[nodiscard]] datagram_batch batch() const noexcept { return {messages_.data(), taken_}; }

    [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
    [[nodiscard]] std::uint64_t truncated() const noexcept { return truncated_; }
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

private:
    union control { // of a message: how long the datagrams in it are
        cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    };

    void look_at(std::size_t index) noexcept;

    const bool coalesced_;
    const std::size_t bytes_each_;
    const std::size_t slots_;
    const std::unique_ptr<char[]> bytes_;
    std::vector<sockaddr_in6> names_; // of IPv4, too, which is shorter
    std::vector<control> controls_;   // only if coalesced
    std::vector<iovec> pieces_;
    std::vector<mmsghdr> headers_;
    std::vector<detail::received_message> messages_;
    std::size_t taken_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t truncated_ = 0;
    std::uint64_t refused_ = 0;
};

/// Whether it is about a datagram that was sent before and did not arrive: the network has told a
/// connected socket so (ICMP; man 7 udp, man 7 ip), which takes it off. The next call may succeed.
[[nodiscard]] bool is_told_by_network(int error) noexcept;

} // namespace rota::io
