#include "datagram_sender.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "datagram_receiver.hpp"

namespace rota::io {
namespace {

constexpr std::size_t messages_max = 64;      // of one system call
constexpr std::size_t run_max = 64;           // UDP_MAX_SEGMENTS before Linux 6.7
constexpr std::size_t run_bytes_max = 65'000; // with its headers it is one packet of IP
constexpr std::size_t datagram_max = 65'535;  // its length is a number of 16 bits (RFC 768)

bool same(const endpoint& a, const endpoint& b) noexcept {
    return a.length() == b.length() && std::memcmp(a.address(), b.address(), a.length()) == 0;
}

} // namespace

/// What one system call is given.
class datagram_sender::messages {
public:
    void add(const endpoint& to, char* bytes, std::size_t size, std::size_t each) noexcept {
        msghdr& m = headers_[count_].msg_hdr;
        pieces_[count_] = {.iov_base = bytes, .iov_len = size};
        m = {};
        if (to.length() != 0) {
            m.msg_name = const_cast<sockaddr*>(to.address());
            m.msg_namelen = to.length();
        }
        m.msg_iov = &pieces_[count_];
        m.msg_iovlen = 1;
        if (each != 0) {
            control& c = controls_[count_];
            c = {};
            c.header = {.cmsg_len = CMSG_LEN(sizeof(std::uint16_t)),
                        .cmsg_level = SOL_UDP,
                        .cmsg_type = UDP_SEGMENT};
            const auto segment = static_cast<std::uint16_t>(each);
            std::memcpy(CMSG_DATA(&c.header), &segment, sizeof segment);
            m.msg_control = &c;
            m.msg_controllen = sizeof c.bytes;
        }
        ++count_;
    }
    [[nodiscard]] bool full() const noexcept { return count_ == messages_max; }
    [[nodiscard]] int send(int fd) noexcept {
        return ::sendmmsg(fd, headers_.data(), static_cast<unsigned>(count_),
                          MSG_DONTWAIT | MSG_NOSIGNAL);
    }

private:
    union control {
        cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(std::uint16_t))];
    };
    std::array<mmsghdr, messages_max> headers_;
    std::array<iovec, messages_max> pieces_;
    std::array<control, messages_max> controls_;
    std::size_t count_ = 0;
};

datagram_sender::datagram_sender(std::size_t bytes_max)
    : bytes_max_(bytes_max), bytes_(std::make_unique_for_overwrite<char[]>(bytes_max)) {
    entries_.reserve(datagrams_max);
}

bool datagram_sender::add(const endpoint& to, std::string_view bytes) noexcept {
    if (bytes.size() > datagram_max) {
        note_failed(EMSGSIZE);
        return true;
    }
    if (entries_.size() == datagrams_max || bytes_max_ - end_ < bytes.size())
        make_room();
    if (entries_.size() == datagrams_max || bytes_max_ - end_ < bytes.size())
        return false;
    std::copy(bytes.begin(), bytes.end(), &bytes_[end_]);
    end_ += bytes.size();
    entries_.push_back({.to = to, .size = bytes.size()});
    return true;
}

void datagram_sender::take_back() noexcept {
    end_ -= entries_.back().size;
    entries_.pop_back();
}

/// What is gone leaves its place to what is to come.
void datagram_sender::make_room() noexcept {
    std::memmove(&bytes_[0], &bytes_[begin_], end_ - begin_);
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(first_));
    end_ -= std::exchange(begin_, 0);
    first_ = 0;
}

/// How many from there on can go as one message: of one destination, and of one size, but for the
/// last, which may be shorter.
std::size_t datagram_sender::run_from(std::size_t index) const noexcept {
    const entry& head = entries_[index];
    if (!segments_ || one_by_one_ != 0 || head.size == 0)
        return 1;
    std::size_t bytes = head.size;
    std::size_t count = 1;
    for (; count < run_max && index + count < entries_.size(); ++count) {
        const entry& next = entries_[index + count];
        bytes += next.size;
        if (next.size == 0 || next.size > head.size || bytes > run_bytes_max ||
            !same(head.to, next.to))
            break;
        if (next.size < head.size)
            return count + 1;
    }
    return count;
}

bool datagram_sender::push(int fd) noexcept {
    while (!empty()) {
        messages all;
        std::array<std::size_t, messages_max> runs{};
        std::size_t count = 0;
        std::size_t at = begin_;
        for (std::size_t i = first_; i != entries_.size() && !all.full(); i += runs[count++]) {
            runs[count] = run_from(i);
            std::size_t size = 0;
            for (std::size_t n = 0; n < runs[count]; ++n)
                size += entries_[i + n].size;
            all.add(entries_[i].to, &bytes_[at], size, runs[count] > 1 ? entries_[i].size : 0);
            at += size;
        }
        const int sent = all.send(fd);
        if (sent < 0 && errno == EAGAIN)
            return false;
        if (sent < 0 && !go_on_after(errno, runs[0]))
            drop_first();
        for (int i = 0; i < sent; ++i)
            note_sent(runs[static_cast<std::size_t>(i)]);
    }
    entries_.clear();
    first_ = begin_ = end_ = 0;
    return true;
}

/// What the first message failed with: true if it is to be tried again; else its datagram has
/// failed.
bool datagram_sender::go_on_after(int error, std::size_t first_run) noexcept {
    if (error == EINTR)
        return true;
    if (is_told_by_network(error) && entries_[first_].to.length() == 0 && !told_) {
        told_ = true; // it was about one before it
        ++refused_;
        return true;
    }
    if (first_run > 1) { // whether it is the row, or all of them, shows when they go one by one
        one_by_one_ = first_run;
        return true;
    }
    note_failed(error);
    return false;
}

void datagram_sender::drop_first() noexcept {
    begin_ += entries_[first_].size;
    ++first_;
    told_ = false;
    one_by_one_ -= one_by_one_ != 0 ? 1 : 0;
}

void datagram_sender::note_sent(std::size_t count) noexcept {
    if (one_by_one_ != 0)
        segments_ = false; // it was the row: the kernel, or the way there, has no such thing
    for (std::size_t i = 0; i < count; ++i)
        drop_first();
    report_.sent += count;
    sent_ += count;
}

void datagram_sender::note_failed(int error) noexcept {
    if (report_.failed++ == 0)
        report_.error = std::error_code(error, std::system_category());
    ++failed_;
}

} // namespace rota::io
