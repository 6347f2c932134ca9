// The backend for where io_uring is not to be had: readiness from epoll (man 7 epoll), turned into
// completions.

#include "backend.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rota/check.hpp>

#include "buffer_group.hpp"
#include "operation.hpp"

namespace rota::io {
namespace {

constexpr std::size_t events_max = 256;            // at once
constexpr std::size_t receives_per_readiness = 16; // so that a fast sender does not hold up others

// What is known of a descriptor in the kernel, where that is not what it is to report.
constexpr std::uint32_t silent = EPOLLONESHOT; // it is there, and has been reported
constexpr std::uint32_t in_doubt = EPOLLET;    // a call failed: it may be there, with what it had

// The calls that each request takes. The C library's own are points where a thread may be cancelled
// (man 7 pthreads), which no thread of ours ever is: each would say so to it and take it back.

int wait_for_events(int epoll, std::span<epoll_event> into, int limit_ms) noexcept {
    return static_cast<int>(
        ::syscall(SYS_epoll_pwait, epoll, into.data(), into.size(), limit_ms, nullptr, 0));
}

ssize_t receive(int fd, char* into, std::size_t bytes) noexcept {
    return ::syscall(SYS_recvfrom, fd, into, bytes, MSG_DONTWAIT, nullptr, nullptr);
}

ssize_t send(int fd, const iovec& from, int flags) noexcept {
    return ::syscall(SYS_sendto, fd, from.iov_base, from.iov_len, flags, nullptr, 0);
}

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::system_category(), what);
}

class epoll_read_backend final : public read_backend {
public:
    epoll_read_backend() {
        if (epoll_.fd < 0)
            fail("epoll_create1");
        // So that what has been reported, once in the case of a poll, is not lost for want of room.
        done_.reserve(events_max * (receives_per_readiness + ends_per_descriptor));
        epoll_event event{.events = EPOLLIN, .data = {.fd = wake_.fd()}};
        if (::epoll_ctl(epoll_.fd, EPOLL_CTL_ADD, wake_.fd(), &event) != 0)
            fail("epoll_ctl");
    }

    void enter_thread() override {}

    void arm(operation& op) override {
        make_room();
        if (op.fd < 0) {
            complete(op, -EBADF, 0);
            return;
        }
        if (op.kind == op_kind::connect && !start_connect(op))
            return;
        const auto index = static_cast<std::size_t>(op.fd);
        if (index >= interests_.size())
            interests_.resize(index + index / 2 + 16);
        interest& i = interests_[index];
        ROTA_CHECK(!waits(op), "an operation is armed once");
        const std::uint32_t events = events_of(op);
        if (((events & EPOLLOUT) != 0 && i.out != nullptr) ||
            ((events & ~EPOLLOUT) != 0 && i.in != nullptr)) {
            complete(op, -EBUSY, 0);
            return;
        }
        if ((events & EPOLLOUT) != 0)
            i.out = &op;
        if ((events & ~EPOLLOUT) != 0)
            i.in = &op;
        update(op.fd);
    }

    // What has ended already, but not been fetched by wait(), is not ended twice.
    void cancel(operation& op) override {
        if (op.fd >= 0 && static_cast<std::size_t>(op.fd) < interests_.size() && waits(op)) {
            make_room();
            finish(op, -ECANCELED);
        }
    }

    std::size_t wait(std::span<op_completion> out, time_point until) override {
        if (done_.empty())
            poll(until);
        const std::size_t count = std::min(out.size(), done_.size());
        std::copy_n(done_.begin(), count, out.begin());
        done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(count));
        return count;
    }

    void wake() noexcept override { wake_.notify(); }

    void attach(buffer_group&) override {}

private:
    static constexpr std::size_t ends_per_descriptor = 2;

    /// What is interested in a descriptor: one that waits for input, one that
    /// waits for room or a connection; a poll may be both.
    struct interest {
        operation* in = nullptr;
        operation* out = nullptr;
        std::uint32_t registered = 0; // with the kernel, or `silent` or `in_doubt`
    };

    struct descriptor {
        const int fd = ::epoll_create1(EPOLL_CLOEXEC);
        descriptor() = default;
        descriptor(const descriptor&) = delete;
        descriptor& operator=(const descriptor&) = delete;
        ~descriptor() {
            if (fd >= 0)
                ::close(fd);
        }
    };

    /// For what arm() or cancel() ends, before either has changed anything.
    void make_room() {
        if (done_.capacity() - done_.size() < ends_per_descriptor)
            done_.reserve(2 * done_.capacity());
    }

    static std::uint32_t events_of(const operation& op) noexcept {
        switch (op.kind) {
        case op_kind::receive:
            return EPOLLIN | EPOLLRDHUP;
        case op_kind::poll:
            return op.poll_events != 0 ? op.poll_events : EPOLLERR; // which comes unasked for
        case op_kind::connect:
            return EPOLLOUT;
        }
        return 0;
    }

    interest& interest_of(const operation& op) {
        return interests_[static_cast<std::size_t>(op.fd)];
    }
    bool waits(const operation& op) {
        const interest& i = interest_of(op);
        return i.in == &op || i.out == &op;
    }

    /// What the kernel is to report: nothing more behind the result of a poll that is alone, so
    /// that the next one, of a listener for each client, costs one call and not two.
    static std::uint32_t wanted_of(const interest& i) noexcept {
        const std::uint32_t events =
            (i.in != nullptr ? events_of(*i.in) : 0U) | (i.out != nullptr ? events_of(*i.out) : 0U);
        const operation* const only = i.in == nullptr || i.in == i.out ? i.out
                                      : i.out == nullptr               ? i.in
                                                                       : nullptr;
        const bool once = only != nullptr && only->kind == op_kind::poll;
        return once ? events | EPOLLONESHOT : events;
    }

    /// Makes the kernel's idea of a descriptor agree with ours. Without anybody interested it is
    /// taken out, because a hang-up is reported whatever one asks for, unless it is silent already.
    void update(int fd) {
        interest& i = interests_[static_cast<std::size_t>(fd)];
        const std::uint32_t wanted = wanted_of(i);
        if (wanted == i.registered || (wanted == 0 && i.registered == silent))
            return;
        const int error = tell_kernel(fd, i, wanted);
        if (error == 0 || wanted == 0)
            return; // what is reported all the same is taken out then
        operation* const in = std::exchange(i.in, nullptr);
        operation* const out = std::exchange(i.out, nullptr);
        for (operation* const op : {in, out == in ? nullptr : out}) {
            if (op == nullptr)
                continue;
            // EPERM: a regular file, which is always ready (man 2 poll).
            const bool ready = error == EPERM && op->kind == op_kind::poll;
            complete(*op, ready ? static_cast<std::int32_t>(op->poll_events) : -error, 0);
        }
    }

    /// 0, or an errno value.
    int tell_kernel(int fd, interest& i, std::uint32_t wanted) const noexcept {
        epoll_event event{.events = wanted, .data = {.fd = fd}};
        const auto call = [&](int how) noexcept {
            return ::epoll_ctl(epoll_.fd, how, fd, &event) == 0 ? 0 : errno;
        };
        int error = i.registered == 0 ? call(EPOLL_CTL_ADD)
                    : wanted == 0     ? call(EPOLL_CTL_DEL)
                                      : call(EPOLL_CTL_MOD);
        if (error == ENOENT || error == EBADF) {
            // What was known to the kernel has been closed; the number may be another's by now.
            i.registered = 0;
            if (error == ENOENT && wanted != 0)
                error = call(EPOLL_CTL_ADD);
        }
        if (error == 0) {
            i.registered = wanted;
        } else if (i.registered != 0) {
            i.registered = in_doubt;
        }
        return error;
    }

    void complete(operation& op, std::int32_t result, std::uint32_t flags) {
        done_.push_back({.op = &op, .result = result, .flags = flags});
    }

    /// The last completion of `op`, which is interested no more.
    void finish(operation& op, std::int32_t result, std::uint32_t flags = 0) {
        ROTA_CHECK(waits(op), "an operation ends once");
        interest& i = interest_of(op);
        if (i.in == &op)
            i.in = nullptr;
        if (i.out == &op)
            i.out = nullptr;
        update(op.fd);
        complete(op, result, flags);
    }

    bool start_connect(operation& op) {
        const int error = go_on_connecting(op);
        if (error == EINPROGRESS)
            return true;
        complete(op, -error, 0);
        return false;
    }

    void poll(time_point until) {
        // The kernel fills in those that are looked at.
        std::array<epoll_event, events_max> events; // NOLINT(*-type-member-init)
        int limit_ms = -1;
        if (until != time_point::max()) {
            const auto rest = std::chrono::ceil<std::chrono::milliseconds>(
                until - std::chrono::steady_clock::now());
            limit_ms = static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, 3'600'000));
        }
        const int count = wait_for_events(epoll_.fd, events, limit_ms);
        for (int i = 0; i < count; ++i)
            handle(events[static_cast<std::size_t>(i)]);
    }

    void handle(const epoll_event& event) {
        const int fd = event.data.fd;
        if (fd == wake_.fd()) {
            std::uint64_t counter = 0;
            [[maybe_unused]] const auto got = ::read(fd, &counter, sizeof counter);
            return;
        }
        interest& i = interests_[static_cast<std::size_t>(fd)];
        if ((i.registered & EPOLLONESHOT) != 0)
            i.registered = silent;
        if (i.registered == in_doubt)
            update(fd);
        const std::uint32_t failed = EPOLLERR | EPOLLHUP;
        if (operation* const op = i.in;
            op != nullptr && (event.events & ((events_of(*op) & ~EPOLLOUT) | failed)) != 0) {
            if (op->kind == op_kind::receive) {
                receive(*op);
            } else {
                finish_poll(*op, event.events);
            }
        }
        if (operation* const op = i.out;
            op != nullptr && (event.events & (EPOLLOUT | failed)) != 0) {
            if (op->kind == op_kind::connect) {
                finish(*op, end_connect(fd));
            } else {
                finish_poll(*op, event.events);
            }
        }
    }

    void finish_poll(operation& op, std::uint32_t events) {
        finish(op, static_cast<std::int32_t>(events & (op.poll_events | EPOLLERR | EPOLLHUP)));
    }

    void receive(operation& op) {
        for (std::size_t i = 0; i < receives_per_readiness; ++i) {
            const std::uint16_t buffer = op.group->take();
            if (buffer == buffer_group::none) {
                finish(op, -ENOBUFS);
                return;
            }
            const std::size_t size = std::min<std::size_t>(op.group->bytes_each(), op.room);
            const ssize_t got = io::receive(op.fd, op.group->data(buffer), size);
            if (got > 0) {
                ROTA_CHECK(static_cast<std::size_t>(got) <= op.room, "there is room for it");
                op.room -= static_cast<std::uint32_t>(got);
                const auto with = completion_flags::buffer | std::uint32_t{buffer}
                                                                 << completion_flags::buffer_shift;
                if (op.room == 0) {
                    finish(op, static_cast<std::int32_t>(got), with);
                    return;
                }
                complete(op, static_cast<std::int32_t>(got), completion_flags::more | with);
                if (static_cast<std::size_t>(got) < size)
                    return;
                continue;
            }
            const int error = errno;
            op.group->untake();
            if (got < 0 && (error == EAGAIN || error == EINTR))
                return;
            finish(op, got == 0 ? 0 : -error);
            return;
        }
    }

    const wake_event wake_;
    const descriptor epoll_;
    std::vector<interest> interests_; // by descriptor
    std::vector<op_completion> done_;
};

class syscall_write_backend final : public write_backend {
public:
    [[nodiscard]] std::size_t batch_worth() const noexcept override { return 8; } // a call for each
    void send(std::span<send_request> batch) override {
        for (send_request& r : batch) {
            if (r.file != nullptr) {
                r.result = send_from_file(r.fd, *r.file);
                continue;
            }
            const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | r.more;
            const iovec* pieces = r.message.msg_iov;
            const ssize_t sent = r.message.msg_iovlen == 1 ? io::send(r.fd, *pieces, flags)
                                                           : ::sendmsg(r.fd, &r.message, flags);
            r.result = static_cast<std::int32_t>(sent >= 0 ? sent : -errno);
        }
    }
};

} // namespace

wake_event::wake_event() : fd_(::eventfd(0, EFD_CLOEXEC)) {
    if (fd_ < 0)
        fail("eventfd");
}

wake_event::~wake_event() { ::close(fd_); }

void wake_event::notify() const noexcept {
    const std::uint64_t one = 1;
    // Blocks only with a full counter, which a woken thread empties.
    [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

int go_on_connecting(const operation& op) noexcept {
    ::fcntl(op.fd, F_SETFL, ::fcntl(op.fd, F_GETFL) | O_NONBLOCK);
    if (::connect(op.fd, op.address, op.address_length) == 0 || errno == EISCONN)
        return 0;
    return errno == EALREADY ? EINPROGRESS : errno;
}

std::int32_t end_connect(int fd) noexcept {
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return -error;
}

/// What sendfile(2) does, by way of this process; in pieces, as far as the socket takes them.
static std::int32_t copy_from_file(int fd, const file_send& what) noexcept {
    std::array<char, 16'384> piece; // on the stack of a worker
    std::size_t copied = 0;
    while (copied < what.bytes) {
        const auto at = static_cast<off_t>(what.offset + copied);
        const ssize_t got =
            ::pread(what.file, piece.data(), std::min(piece.size(), what.bytes - copied), at);
        const ssize_t sent = got <= 0 ? got
                                      : ::send(fd, piece.data(), static_cast<std::size_t>(got),
                                               MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent <= 0 && copied == 0)
            return static_cast<std::int32_t>(sent == 0 ? 0 : -errno);
        copied += static_cast<std::size_t>(std::max<ssize_t>(0, sent));
        if (sent < got || sent <= 0)
            break; // the next call says why
    }
    return static_cast<std::int32_t>(copied);
}

std::int32_t send_from_file(int fd, const file_send& what) noexcept {
    if (what.first && ::fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
        return -errno;
    auto offset = static_cast<off_t>(what.offset);
    // Threads that send have SIGPIPE blocked (quiet_thread.hpp): a peer that is gone is EPIPE.
    const ssize_t sent = ::sendfile(fd, what.file, &offset, what.bytes);
    if (sent < 0 && (errno == EINVAL || errno == ENOSYS))
        return copy_from_file(fd, what); // this file system, or a filter, has none (its NOTES)
    return static_cast<std::int32_t>(sent >= 0 ? sent : -errno);
}

std::unique_ptr<read_backend> make_epoll_read_backend() {
    return std::make_unique<epoll_read_backend>();
}

std::unique_ptr<write_backend> make_syscall_write_backend() {
    return std::make_unique<syscall_write_backend>();
}

} // namespace rota::io
