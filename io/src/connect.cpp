#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <rota/io/listener.hpp>
#include <rota/io/wait_fd.hpp>
#include <rota/owner_wait.hpp>
#include <rota/sleep.hpp>

#include "access.hpp"
#include "operation.hpp"
#include "socket_option.hpp"
#include "worker_io.hpp"

namespace rota::io {
namespace {

/// An operation with one result that a routine waits for in its own frame. A stop request or a
/// deadline cancels it in the kernel and then waits for its end, so that nothing refers to the
/// frame any more; a result that was quicker counts.
class one_shot final : public owner_wait, operation {
public:
    one_shot(op_kind what_kind, worker_io& io, int descriptor, const char* what,
             std::source_location where) noexcept
        : owner_wait(what, where), operation(what_kind, io.home), io_(io), expiry_(*this) {
        fd = descriptor;
    }

    void set_address(const endpoint& e) noexcept {
        address = e.address();
        address_length = e.length();
    }
    void set_events(std::uint32_t events) noexcept { poll_events = events; }
    void set_deadline(deadline until) noexcept { until_ = until; }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
        return wait(self, [this] {
            io_.reader.request(*this, want_arm);
            if (until_)
                io_.home.timers().arm(expiry_, *until_);
            return true;
        });
    }

    /// The operation's result, if it is not an error; else throws.
    std::int32_t await_resume() {
        finish();
        if (result_ == -ECANCELED && timed_out_)
            throw timed_out();
        if (result_ < 0) {
            throw std::system_error(-result_, std::system_category(),
                                    kind == op_kind::connect ? "connect" : "poll");
        }
        return result_;
    }

private:
    struct expiry : timer {
        explicit expiry(one_shot& o) noexcept : timer(&fire), self(o) {}
        static void fire(timer& t) noexcept {
            one_shot& o = static_cast<expiry&>(t).self;
            o.timed_out_ = true;
            o.cancel_operation();
        }
        one_shot& self;
    };

    bool withdraw() noexcept override {
        stopped_ = true;
        cancel_operation();
        return false; // complete(...) below says when it is over
    }

    void cancel_operation() noexcept {
        if (cancelling_)
            return;
        cancelling_ = true;
        io_.reader.request(*this, want_cancel);
    }

    void complete(std::int32_t result, std::uint32_t flags) noexcept override {
        if ((flags & completion_flags::cancel_seen) != 0) {
            cancel_seen_ = true;
        } else {
            ended_ = true;
            result_ = result;
            io_.home.timers().disarm(expiry_);
        }
        if (!ended_ || (cancelling_ && !cancel_seen_))
            return;
        if (stopped_ && result_ == -ECANCELED) {
            owner_wait::withdrawn();
        } else {
            owner_wait::complete();
        }
    }

    worker_io& io_;
    deadline until_;
    expiry expiry_;
    std::int32_t result_ = -ECANCELED;
    bool timed_out_ = false;
    bool stopped_ = false;
    bool cancelling_ = false;
    bool cancel_seen_ = false;
    bool ended_ = false;
};

/// How often a connect to a Unix socket whose backlog is full is tried again: nothing announces
/// that there is room.
constexpr auto crowded_retry = std::chrono::milliseconds(10);

std::system_error connect_failure(int error, const endpoint& address) {
    return {error, std::system_category(), fmt::format("connect to {}", address.to_string())};
}

/// A connect to a Unix socket succeeds or fails at once, but for a full backlog. The kernel would
/// wait for room in that, in a thread of its own if asked by a ring, where it cannot be relied upon
/// to be cancelled (Linux 6.18); so the waiting is done here.
task<void> connect_unix(int fd, const endpoint* address, deadline until) {
    routine& self = co_await current_routine;
    const int flags = ::fcntl(fd, F_GETFL);
    ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (::connect(fd, address->address(), address->length()) != 0) {
        if (errno != EAGAIN)
            throw connect_failure(errno, *address);
        const auto now = self.home().now();
        if (until && *until <= now)
            throw timed_out();
        co_await sleep_until(std::min(now + crowded_retry, until.value_or(now + crowded_retry)));
    }
    ::fcntl(fd, F_SETFL, flags);
}

} // namespace

task<connection> connect(context& ctx, endpoint address, deadline until) {
    routine& self = co_await current_routine;
    accepted_socket s(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (s.get() < 0)
        throw std::system_error(errno, std::system_category(), "socket");
    if (address.family() == AF_UNIX) {
        co_await connect_unix(s.get(), &address, until);
        co_return adopt(ctx, std::move(s), assignment(self.home()));
    }
    set_option(s.get(), IPPROTO_TCP, TCP_NODELAY, 1);
    one_shot operation(op_kind::connect, context_access::io_of(ctx, self.home()), s.get(),
                       "connect", std::source_location::current());
    operation.set_address(address);
    operation.set_deadline(until);
    try {
        co_await operation;
    } catch (const timed_out&) {
        throw;
    } catch (const std::system_error& e) {
        throw connect_failure(e.code().value(), address);
    }
    co_return adopt(ctx, std::move(s), assignment(self.home()));
}

task<std::uint32_t> wait_fd(context& ctx, int fd, std::uint32_t events, deadline until) {
    routine& self = co_await current_routine;
    one_shot operation(op_kind::poll, context_access::io_of(ctx, self.home()), fd, "wait_fd",
                       std::source_location::current());
    operation.set_events(events);
    operation.set_deadline(until);
    const std::int32_t ready = co_await operation;
    co_return static_cast<std::uint32_t>(ready);
}

} // namespace rota::io
