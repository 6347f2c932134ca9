#include "datagram_receiver.hpp"

#include <cerrno>
#include <cstring>

#include <netinet/udp.h>
#include <sys/uio.h>

namespace rota::io {
namespace {

constexpr std::size_t coalesced_bytes = 65'535; // the most that the kernel gathers (man 7 udp)
constexpr std::size_t coalesced_slots = 4;
constexpr int told_in_a_row = 16; // then it is the turn of others

} // namespace

bool is_told_by_network(int error) noexcept {
    switch (error) {
    case ECONNREFUSED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case ENOPROTOOPT:
    case EPROTO:
        return true;
    default:
        return false;
    }
}

datagram_receiver::datagram_receiver(const datagram_options& options)
    : coalesced_(options.coalesced),
      bytes_each_(coalesced_ ? coalesced_bytes : options.datagram_bytes_max),
      slots_(coalesced_ ? coalesced_slots : options.batch_max),
      bytes_(std::make_unique_for_overwrite<char[]>(slots_ * bytes_each_)), names_(slots_),
      controls_(coalesced_ ? slots_ : 0), pieces_(slots_), headers_(slots_), messages_(slots_) {
    for (std::size_t i = 0; i < slots_; ++i) {
        pieces_[i] = {.iov_base = &bytes_[i * bytes_each_], .iov_len = bytes_each_};
        msghdr& m = headers_[i].msg_hdr;
        m.msg_name = &names_[i];
        m.msg_iov = &pieces_[i];
        m.msg_iovlen = 1;
        m.msg_control = coalesced_ ? &controls_[i] : nullptr;
        messages_[i].data = &bytes_[i * bytes_each_];
        messages_[i].from = reinterpret_cast<const sockaddr*>(&names_[i]);
    }
    taken_ = slots_; // all are to be set back
}

int datagram_receiver::receive(int fd) noexcept {
    for (; taken_ != 0; --taken_) {
        msghdr& m = headers_[taken_ - 1].msg_hdr;
        m.msg_namelen = sizeof names_[0];
        m.msg_controllen = coalesced_ ? sizeof controls_[0].bytes : 0;
    }
    for (int told = 0; told < told_in_a_row;) {
        const int got =
            ::recvmmsg(fd, headers_.data(), static_cast<unsigned>(slots_), MSG_DONTWAIT, nullptr);
        if (got >= 0) {
            int datagrams = 0;
            for (; taken_ < static_cast<std::size_t>(got); ++taken_) {
                look_at(taken_);
                datagrams += static_cast<int>(messages_[taken_].count());
            }
            received_ += static_cast<std::uint64_t>(datagrams);
            return datagrams;
        }
        if (errno == EAGAIN)
            return 0;
        if (is_told_by_network(errno)) {
            ++refused_;
            ++told;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

void datagram_receiver::look_at(std::size_t index) noexcept {
    msghdr& from = headers_[index].msg_hdr;
    detail::received_message& m = messages_[index];
    m.size = headers_[index].msg_len;
    m.each = 0;
    m.from_length = from.msg_namelen;
    m.truncated = (from.msg_flags & MSG_TRUNC) != 0;
    truncated_ += m.truncated ? 1 : 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&from); c != nullptr; c = CMSG_NXTHDR(&from, c)) {
        if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO)
            continue;
        int each = 0;
        std::memcpy(&each, CMSG_DATA(c), sizeof each);
        if (each > 0 && static_cast<std::size_t>(each) < m.size)
            m.each = static_cast<std::size_t>(each);
    }
}

} // namespace rota::io
