#include "traffic.hpp"

#include <cerrno>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pace {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

} // namespace

traffic::traffic(const address& server, const std::string& host, const stream_settings& settings,
                 int epoll)
    : server_(server), path_(settings.path),
      request_("GET " + path_ + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"),
      interval_(static_cast<double>(second) / settings.rate), epoll_(epoll),
      connections_(settings.connections), buffer_(buffer_bytes) {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        connections_[i].owner = this;
        connections_[i].slot = i;
        connect(connections_[i]);
    }
}

traffic::~traffic() {
    for (const connection& one : connections_) {
        if (one.fd >= 0)
            ::close(one.fd);
    }
}

void traffic::begin(const period& when) {
    period_ = when;
    total_ = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(when.end - when.begin) / interval_));
}

nanoseconds traffic::due_at(std::uint64_t request) const {
    return period_.begin + std::llround(static_cast<double>(request) * interval_);
}

nanoseconds traffic::due_at(const connection& of, std::uint64_t turn) const {
    return due_at(of.slot + turn * connections_.size());
}

nanoseconds traffic::next_due() const {
    return given_ < total_ ? due_at(given_) : std::numeric_limits<nanoseconds>::max();
}

bool traffic::finished() const { return done_ == total_; }

void traffic::fail(const std::string& what) const { throw std::runtime_error(path_ + ": " + what); }

void traffic::connect(connection& which) {
    which.fd = server_.connect();
    which.proven = false;
    which.answer = {};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &which;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, which.fd, &event) != 0)
        throw std::system_error(errno, std::system_category(), "epoll_ctl");
}

void traffic::give_out(histogram& lateness) {
    while (given_ < total_) {
        const nanoseconds due = due_at(given_);
        const nanoseconds late = now() - due;
        if (late < 0)
            return;
        if (measured(due))
            lateness.add(static_cast<std::uint64_t>(late));
        connection& to = connections_[given_ % connections_.size()];
        ++given_;
        ++to.due;
        if (!to.busy)
            send_next(to);
    }
}

void traffic::send_next(connection& to) {
    to.busy = true;
    const ssize_t sent = ::send(to.fd, request_.data(), request_.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(request_.size()))
        return;
    if (sent >= 0 || errno == EAGAIN)
        fail("the socket does not take a whole request");
    ended(to);
}

void traffic::read(connection& from) {
    const ssize_t got = ::recv(from.fd, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        ended(from);
        return;
    }
    if (!from.busy)
        fail("an answer to nothing");
    bool whole = false;
    try {
        whole = from.answer.take(std::string_view(buffer_.data(), static_cast<std::size_t>(got)));
    } catch (const std::runtime_error& error) {
        fail(error.what());
    }
    if (whole)
        answered(from);
}

void traffic::answered(connection& by) {
    const nanoseconds due = due_at(by, by.done);
    const nanoseconds at = now();
    if (measured(due)) {
        outcome_.latency.add(static_cast<std::uint64_t>(at - due));
        outcome_.within += at <= period_.end ? 1 : 0;
    } else {
        ++outcome_.warmup;
    }
    ++by.done;
    ++done_;
    by.busy = false;
    by.proven = true;
    if (by.answer.last())
        ended(by);
    else if (by.done < by.due)
        send_next(by);
}

/// The server has ended it, or will. A new one takes its place.
void traffic::ended(connection& which) {
    ::close(which.fd);
    which.fd = -1;
    if (!which.proven)
        fail("the server ends a connection without an answer");
    if (which.busy) {
        outcome_.lost += measured(due_at(which, which.done)) ? 1 : 0;
        ++which.done;
        ++done_;
        which.busy = false;
    } else {
        ++outcome_.reconnected;
    }
    connect(which);
    if (which.done < which.due)
        send_next(which);
}

void traffic::give_up() {
    for (const connection& one : connections_) {
        for (std::uint64_t turn = one.done; turn < one.due; ++turn) {
            const nanoseconds due = due_at(one, turn);
            if (!measured(due))
                continue;
            ++outcome_.unanswered;
            outcome_.latency.add(static_cast<std::uint64_t>(now() - due));
        }
    }
}

} // namespace pace
