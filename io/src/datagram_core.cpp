#include "datagram_core.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <rota/routine.hpp>
#include <rota/sleep.hpp>

#include "bind_failure.hpp"
#include "socket_option.hpp"

namespace rota::io {
namespace {

constexpr std::size_t taken_at_drain = 65'536; // more than kernels keep

void validate(const endpoint& address, const datagram_options& o) {
    const auto require = [](bool holds, const char* what) {
        if (!holds)
            throw std::invalid_argument(std::string("datagrams: ") + what);
    };
    require(address.family() == AF_INET || address.family() == AF_INET6,
            "the address must be one of IPv4 or IPv6");
    require(o.datagram_bytes_max >= 1 && o.datagram_bytes_max <= 65'535,
            "datagram_bytes_max must be from 1 to 65535");
    require(o.batch_max >= 1 && o.batch_max <= 1024, "batch_max must be from 1 to 1024");
    require(o.queue_bytes_max >= 65'536 && o.queue_bytes_max <= std::size_t{1} << 30,
            "queue_bytes_max must be from 65536 to 2^30");
    require(o.kernel_bytes <= std::size_t{1} << 30, "kernel_bytes must be up to 2^30");
}

} // namespace

accepted_socket open_datagrams(const endpoint& address, const datagram_options& options,
                               bool to_peer) {
    validate(address, options);
    const char* const what = to_peer ? "cannot connect datagrams to" : "cannot receive on";
    const auto require = [&](bool holds) {
        if (!holds)
            throw_bind_failure(address, what, SOCK_DGRAM);
    };
    accepted_socket s(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    require(s.get() >= 0);
    if (options.reuse_port)
        require(set_option(s.get(), SOL_SOCKET, SO_REUSEPORT, 1));
    // Or it would receive where it is not to.
    if (address.family() == AF_INET6)
        require(set_option(s.get(), IPPROTO_IPV6, IPV6_V6ONLY, options.ipv6_only ? 1 : 0));
    if (options.kernel_bytes != 0)
        set_option(s.get(), SOL_SOCKET, SO_RCVBUF, static_cast<int>(options.kernel_bytes));
    if (options.coalesced)
        set_option(s.get(), SOL_UDP, UDP_GRO, 1); // without it they come one by one
    const auto begin = to_peer ? &::connect : &::bind;
    require(begin(s.get(), address.address(), address.length()) == 0);
    return s;
}

endpoint local_of(int fd) {
    sockaddr_storage name{};
    socklen_t length = sizeof name;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0)
        throw std::system_error(errno, std::system_category(), "getsockname");
    return endpoint::from(reinterpret_cast<sockaddr*>(&name), length);
}

// --- A direction ---

datagram_core::direction::direction(datagram_core& of, std::uint32_t events) noexcept
    : operation(op_kind::poll, of.io_.home), core_(of), waiter_(of.io_.home) {
    fd = of.fd();
    poll_events = events;
}

task<void> datagram_core::direction::until_ready(const char* what, deadline until,
                                                 std::source_location where) {
    if (waiter_.waiting())
        throw std::logic_error(std::string("rota: two routines wait in ") + what);
    if (!active) {
        active = true;
        core_.io_.reader.request(*this, want_arm);
    }
    auto arrival = waiter_.wait(what, until, where);
    co_await arrival;
    core_.check_alive();
    if (!std::exchange(troubled_, false))
        co_return;
    auto pause_end = home.now() + retry_after; // it may last
    if (until)
        pause_end = std::min(pause_end, *until);
    co_await sleep_until(pause_end);
}

void datagram_core::direction::end_wait() noexcept {
    if (!active || cancel_pending_)
        return;
    cancel_pending_ = true;
    core_.io_.reader.request(*this, want_cancel); // the end of the poll ends the wait
}

void datagram_core::direction::complete(std::int32_t result, std::uint32_t flags) noexcept {
    if ((flags & completion_flags::cancel_seen) != 0) {
        cancel_pending_ = false;
    } else {
        active = false;
        if (result < 0 && result != -ECANCELED)
            troubled_ = true;
        waiter_.wake();
    }
    core_.end_if_orphaned();
}

// --- Both ---

datagram_core::datagram_core(worker_io& w, accepted_socket s, const datagram_options& options,
                             assignment p, std::move_only_function<void()> on_gone)
    : io_(w), home_(w.home), socket_(std::move(s)), on_gone_(std::move(on_gone)),
      place_(std::move(p)), receiver(options), sender(options.queue_bytes_max), in(*this, POLLIN),
      out(*this, POLLOUT), left_to_take_(taken_at_drain),
      orphaning_(*this, [](runnable& r) noexcept { static_cast<node&>(r).self.orphan(); }),
      draining_node_(*this, [](runnable& r) noexcept {
          datagram_core& self = static_cast<node&>(r).self;
          self.drain_posted_.store(false, std::memory_order_relaxed);
          self.drain();
          self.end_if_orphaned();
      }) {
    io_.add(*this);
}

bool datagram_core::take() {
    if (drained())
        return false;
    const int got = receiver.receive(fd());
    if (got == -ENOMEM || got == -ENOBUFS)
        in.put_off();
    else if (got < 0)
        throw std::system_error(-got, std::system_category(), "recvmmsg");
    const std::size_t taken = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (draining_)
        left_to_take_ = taken == 0 ? 0 : left_to_take_ - std::min(left_to_take_, taken);
    return taken != 0;
}

task<void> datagram_core::send_all(deadline until, std::source_location where) {
    while (!sender.push(fd()))
        co_await out.until_ready("datagram_socket::flush", until, where);
}

void datagram_core::drain() noexcept {
    if (orphaned_ || std::exchange(draining_, true))
        return;
    in.end_wait();
}

void datagram_core::drain_on(std::stop_token token) {
    on_drain_.reset();
    on_drain_.emplace(std::move(token), drain_request{this});
}

void datagram_core::drain_request::operator()() const noexcept {
    if (!self->drain_posted_.exchange(true, std::memory_order_relaxed))
        self->io_.home.post(self->draining_node_);
}

void datagram_core::check_alive() const {
    if (dead())
        throw std::system_error(ECONNABORTED, std::system_category(),
                                "the context of the datagram socket has stopped");
}

/// Its handle has gone.
void datagram_core::orphan() noexcept {
    orphaned_ = true;
    on_drain_.reset(); // waits for one that is being requested
    in.end_wait();
    out.end_wait();
    end_if_orphaned();
}

void datagram_core::end_if_orphaned() noexcept {
    if (!orphaned_ || in.busy() || out.busy() || drain_posted_.load(std::memory_order_relaxed))
        return;
    io_.remove(*this);
    in.end();
    out.end();
    socket_ = accepted_socket(-1);
    if (on_gone_)
        on_gone_();
    on_gone_ = {};
    const std::optional<assignment> last = std::move(place_);
    if (!handle_.outlived())
        delete this;
}

void datagram_core::let_go() noexcept {
    const bool at_home = worker::current() == &home_;
    if (at_home && handle_.held()) {
        orphan();
    } else if (handle_.let_go_elsewhere()) {
        io_.home.post(orphaning_);
    } else if (!handle_.let_go_stray()) {
        delete this;
    }
}

bool datagram_core::stop() noexcept {
    if (orphaned_ || !handle_.make_stray())
        return false;
    orphan();
    return true;
}

std::string datagram_core::describe() const { return "datagrams on " + local_of(fd()).to_string(); }

} // namespace rota::io
