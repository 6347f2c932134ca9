#include "mail.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>

namespace sim {
namespace {

std::uint16_t port_of(const void* name) {
    sockaddr_in v4{};
    std::memcpy(&v4, name, sizeof v4);
    return ntohs(v4.sin_port);
}

/// UDP_SEGMENT of a message, or 0.
std::size_t segment_of(msghdr m) {
    const cmsghdr* const c = CMSG_FIRSTHDR(&m);
    if (c == nullptr || c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_SEGMENT)
        return 0;
    std::uint16_t each = 0;
    std::memcpy(&each, CMSG_DATA(c), sizeof each);
    return each;
}

} // namespace

mail::mail(network& n) : net_(n) { here().add(*this); }
mail::~mail() { here().remove(*this); }

void mail::draw(random& r) {
    constexpr std::size_t delays[] = {0, 200'000, 5'000'000, 80'000'000};
    constexpr std::size_t rooms[] = {1, 3, 1000};
    constexpr unsigned failures[] = {0, 0, 20, 150};
    delay_max_ = nanoseconds(r.one_of(delays));
    room_ = r.one_of(rooms);
    receive_failures_ = r.one_of(failures);
    send_failures_ = r.one_of(failures);
    rows_ = r.chance(700);
}

int mail::receive(int fd, mmsghdr* all, unsigned count) {
    descriptor* const d = net_.find(fd, "recvmmsg");
    random& r = here().rng();
    if (r.chance(receive_failures_)) {
        constexpr int errors[] = {EINTR, ECONNREFUSED, ENOMEM, ENOBUFS};
        return -r.one_of(errors);
    }
    if (d->letters.empty())
        return -EAGAIN;
    unsigned got = 0;
    for (; got < count && !d->letters.empty(); ++got) {
        const auto& [from, bytes] = d->letters.front();
        msghdr& m = all[got].msg_hdr;
        const std::size_t size = std::min(bytes.size(), m.msg_iov->iov_len);
        bytes.copy(static_cast<char*>(m.msg_iov->iov_base), size);
        all[got].msg_len = static_cast<unsigned>(size);
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(from);
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        here().require(m.msg_namelen >= sizeof v4, "there is no room for the sender's address");
        std::memcpy(m.msg_name, &v4, sizeof v4);
        m.msg_namelen = sizeof v4;
        m.msg_flags = size < bytes.size() ? MSG_TRUNC : 0;
        m.msg_controllen = 0;
        d->letters.pop_front();
    }
    here().note("receive {}: {} datagrams", fd, got);
    return static_cast<int>(got);
}

bool mail::can_send(int fd) const {
    const auto out_of_it = [fd](const on_its_way& each) { return each.out_of == fd; };
    return static_cast<std::size_t>(std::ranges::count_if(under_way_, out_of_it)) < room_;
}

int mail::send(int fd, const mmsghdr* all, unsigned count) {
    net_.find(fd, "sendmmsg");
    for (unsigned i = 0; i < count; ++i) {
        if (const int error = send_one(fd, all[i].msg_hdr); error != 0)
            return i != 0 ? static_cast<int>(i) : -error;
    }
    return static_cast<int>(count);
}

/// 0, or an errno value.
int mail::send_one(int fd, const msghdr& message) {
    random& r = here().rng();
    const std::string_view bytes(static_cast<const char*>(message.msg_iov->iov_base),
                                 message.msg_iov->iov_len);
    const std::size_t each = segment_of(message);
    if (!can_send(fd))
        return EAGAIN;
    if (r.chance(send_failures_)) {
        constexpr int errors[] = {EAGAIN, EINTR, ENOBUFS, EPERM};
        const int error = r.one_of(errors);
        if (each == 0 && (error == ENOBUFS || error == EPERM))
            ++refused_;
        return error;
    }
    if (each != 0 && !rows_)
        return EINVAL;
    here().require(each == 0 || bytes.size() <= 65'507, "a row is longer than a datagram can be");
    here().require(each == 0 || bytes.size() <= 64 * each, "a row has too many datagrams");
    std::size_t at = 0;
    do {
        const std::size_t size = each == 0 ? bytes.size() : std::min(each, bytes.size() - at);
        set_out({.from = net_.find(fd, "sendmmsg")->port,
                 .to = port_of(message.msg_name),
                 .bytes = std::string(bytes.substr(at, size))},
                fd);
        at += size;
    } while (at < bytes.size());
    return 0;
}

void mail::send(letter l) { set_out(std::move(l), -1); }

void mail::set_out(letter l, int out_of) {
    const auto longest = static_cast<std::size_t>(delay_max_.count());
    const nanoseconds delay(longest == 0 ? 0 : here().rng().below(longest));
    under_way_.push_back({.what = std::move(l), .out_of = out_of, .due = here().now() + delay});
}

time_point mail::due() {
    time_point next = never;
    for (const on_its_way& each : under_way_)
        next = std::min(next, each.due);
    return next;
}

void mail::step() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
        if (under_way_[i].due <= here().now())
            ready.push_back(i);
    }
    const auto at =
        under_way_.begin() + static_cast<std::ptrdiff_t>(ready[here().rng().below(ready.size())]);
    letter l = std::move(at->what);
    under_way_.erase(at);
    deliver(std::move(l));
}

/// To one of the server's sockets on that port, always the same for a sender, or to a client.
void mail::deliver(letter l) {
    here().note("datagram {} -> {}", l.from, l.to);
    if (inboxes_.contains(l.to)) {
        inboxes_[l.to].push_back(std::move(l));
        return;
    }
    const std::vector<descriptor*> sockets = net_.datagram_sockets(l.to);
    if (!sockets.empty())
        sockets[l.from % sockets.size()]->letters.emplace_back(l.from, std::move(l.bytes));
}

} // namespace sim
