#include <rota/io/listener.hpp>

#include <rota/io/log.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.hpp"
#include "bind_failure.hpp"
#include "connection_core.hpp"
#include "handle_state.hpp"
#include "operation.hpp"
#include "socket_option.hpp"
#include "wait_point.hpp"
#include "worker_io.hpp"

namespace rota::io {
namespace {

constexpr unsigned accepts_in_a_row = 16; // then the worker's other clients have their turn
constexpr std::size_t backlog_taken_at_close = 4096;
constexpr int unsent_bytes_max = 131'072; // in the kernel, beyond what the client has room for

/// Held while a listener takes a path. A server between bind() and listen() answers as one that is
/// gone: without it another that starts in the same moment would take its file for left over.
///
/// It is a lock of the directory (man 2 flock), which leaves nothing behind, and which a listener
/// has for microseconds. Others may hold it for purposes of their own, or it cannot be had: after a
/// while, in which the worker serves nobody, it does without.
class path_claim {
public:
    explicit path_claim(const std::string& path) {
        if (path.empty())
            return;
        const std::size_t slash = path.rfind('/');
        const std::string directory =
            slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
        directory_ = accepted_socket(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        constexpr auto pause = std::chrono::milliseconds(1);
        for (int tries = 0; tries < 50 && directory_.get() >= 0; ++tries) {
            if (::flock(directory_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
                return;
            std::this_thread::sleep_for(pause);
        }
    }

private:
    accepted_socket directory_{-1}; // its close gives the lock back
};

/// A socket file that outlived its server makes bind() fail: remove it if nobody answers there.
void remove_stale_socket(const endpoint& address) {
    const std::string path = address.file_path();
    struct stat info {};
    if (path.empty() || ::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode))
        return;
    // Without waiting: a server that is alive but busy, its backlog full, answers EAGAIN.
    const accepted_socket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (probe.get() >= 0 && ::connect(probe.get(), address.address(), address.length()) != 0 &&
        errno == ECONNREFUSED)
        ::unlink(path.c_str());
}

accepted_socket open_listening(const endpoint& address, const listen_options& options) {
    // A client that was there when it became readable may be gone by the time of the accept, which
    // then must not block.
    accepted_socket s(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (s.get() < 0)
        throw_bind_failure(address, "cannot listen on", SOCK_STREAM);
    if (address.family() != AF_UNIX) {
        set_option(s.get(), SOL_SOCKET, SO_REUSEADDR, 1);
        if (options.reuse_port && !set_option(s.get(), SOL_SOCKET, SO_REUSEPORT, 1))
            throw_bind_failure(address, "cannot share", SOCK_STREAM);
        // Inherited by what is accepted: no system call for each connection.
        if (options.no_delay)
            set_option(s.get(), IPPROTO_TCP, TCP_NODELAY, 1);
        // So is this: what a client does not take stays in the queue, which has its bound.
        set_option(s.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent_bytes_max);
    }
    // Or it would listen where it is not to.
    if (address.family() == AF_INET6 &&
        !set_option(s.get(), IPPROTO_IPV6, IPV6_V6ONLY, options.ipv6_only ? 1 : 0)) {
        throw_bind_failure(address, "cannot listen on", SOCK_STREAM);
    }
    const path_claim until_it_listens(address.file_path());
    if (address.family() == AF_UNIX)
        remove_stale_socket(address);
    if (::bind(s.get(), address.address(), address.length()) != 0 ||
        ::listen(s.get(), options.backlog) != 0) {
        throw_bind_failure(address, "cannot listen on", SOCK_STREAM);
    }
    return s;
}

/// The socket file of a listener, removed at its end unless another has taken its place.
class socket_file {
public:
    explicit socket_file(const endpoint& address) : path_(address.file_path()) {
        if (path_.empty() || ::lstat(path_.c_str(), &mine_) != 0)
            path_.clear();
    }
    void remove() noexcept {
        struct stat now {};
        if (!path_.empty() && ::lstat(path_.c_str(), &now) == 0 && now.st_ino == mine_.st_ino &&
            now.st_dev == mine_.st_dev) {
            ::unlink(path_.c_str());
        }
        path_.clear();
    }

private:
    std::string path_;
    struct stat mine_ {};
};

/// Errors that are one client's, which is gone: the next one may be had at once (man 2 accept). All
/// others may last, so accepting again at once could be for ever.
bool is_of_one_client(int error) noexcept {
    switch (error) {
    case ECONNABORTED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case EINTR:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case ENOPROTOOPT:
    case EPERM:
    case EPROTO:
    case ETIMEDOUT:
        return true;
    default:
        return false;
    }
}

} // namespace

accepted_socket& accepted_socket::operator=(accepted_socket&& other) noexcept {
    accepted_socket taken(std::move(other)); // and goes with what was here
    std::swap(fd_, taken.fd_);
    return *this;
}

accepted_socket::~accepted_socket() {
    if (fd_ >= 0)
        ::close(fd_);
}

/// The state of a listener, and the poll that tells when a client waits in its backlog; outlives it
/// until the kernel has given that back. The baton holder of its worker owns it.
struct listener::core final : operation, handle_core {
    core(worker_io& w, accepted_socket s, const endpoint& where, assignment p)
        : operation(op_kind::poll, w.home), io(w), socket(std::move(s)), file(where),
          place(std::move(p)) {
        fd = socket.get();
        poll_events = POLLIN;
        io.add(*this);
    }

    std::optional<accepted_socket> take() noexcept {
        if (!let_in.empty()) {
            accepted_socket next = std::move(let_in.front());
            let_in.pop_front();
            return next;
        }
        if (closed || in_a_row == accepts_in_a_row)
            return std::nullopt;
        ++in_a_row;
        return take_waiting();
    }

    /// The next in the backlog; none if nobody waits there, or accepting pauses.
    std::optional<accepted_socket> take_waiting() noexcept {
        unsigned failures = 0;
        while (!retry.armed()) {
            const int client = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
            if (client >= 0)
                return accepted_socket(client);
            const int error = errno;
            // So many in a row are not the clients' fault: a filter of system calls, perhaps.
            if (error != EAGAIN && is_of_one_client(error) && ++failures < accepts_in_a_row)
                continue;
            if (error == EAGAIN)
                trouble = 0;
            if (closing && (error == EAGAIN || !anybody_waits())) {
                shut();
            } else if (error != EAGAIN) {
                pause(error);
            }
            break;
        }
        return std::nullopt;
    }

    /// Without descriptors accept() does not look.
    [[nodiscard]] bool anybody_waits() const noexcept {
        pollfd backlog{.fd = fd, .events = POLLIN, .revents = 0};
        return ::poll(&backlog, 1, 0) != 0;
    }

    /// Asks to be told when it is worth another take().
    void watch() noexcept {
        in_a_row = 0;
        if (active || closed || retry.armed())
            return;
        active = true;
        io.reader.request(*this, want_arm);
    }

    void complete(std::int32_t result, std::uint32_t flags) noexcept override {
        if ((flags & completion_flags::cancel_seen) != 0) {
            cancel_pending = false;
            end_if_orphaned();
            return;
        }
        active = false;
        if (result < 0 && !closed)
            pause(-result);
        acceptor.wake();
        end_if_orphaned();
    }

    /// Accepts no more for a while.
    void pause(int error) noexcept {
        if (trouble != error) {
            try {
                log::warn("accept: {}; trying again every {} ms",
                          std::generic_category().message(error), retry_after.count());
            } catch (const std::bad_alloc&) { // nor is there memory to say so
            }
        }
        trouble = error;
        if (!retry.armed())
            io.home.timers().arm(retry, io.home.turn_time() + retry_after);
    }

    /// Nobody accepts any more.
    void orphan() noexcept {
        close();
        let_in.clear();
        if (!closed) {
            log::warn("accept: clients that still wait are turned away");
            shut();
        }
        orphaned = true;
        end_if_orphaned();
    }

    void end_if_orphaned() noexcept {
        if (!orphaned || active || cancel_pending)
            return;
        io.remove(*this);
        acceptor.end();
        socket = accepted_socket(-1);
        const assignment last = std::move(place);
        if (!handle.outlived())
            delete this;
    }

    /// The handle goes, on any thread: see connection_core::let_go().
    void let_go() noexcept {
        const bool at_home = worker::current() == &home;
        if (at_home && handle.held()) {
            orphan();
        } else if (handle.let_go_elsewhere()) {
            io.home.post(orphaning);
        } else if (!handle.let_go_stray()) {
            delete this;
        }
    }

    bool stop() noexcept override {
        if (orphaned || !handle.make_stray())
            return false;
        orphan();
        return true;
    }
    [[nodiscard]] std::string describe() const override {
        return "listening on " + local().to_string();
    }

    struct orphan_node : runnable {
        explicit orphan_node(core& c) noexcept : runnable(&run), self(c) {}
        static void run(runnable& r) noexcept { static_cast<orphan_node&>(r).self.orphan(); }
        core& self;
    };

    /// No new clients. Those that the kernel has let in already are not turned away: if there is no
    /// room for all of them now, it listens on until the last one is taken.
    void close() noexcept {
        if (closing)
            return;
        closing = true;
        file.remove(); // while nobody can take it for stale
        io.home.timers().disarm(retry);
        try {
            while (!closed && !retry.armed() && let_in.size() < backlog_taken_at_close) {
                if (auto client = take_waiting())
                    let_in.push_back(std::move(*client));
            }
        } catch (const std::bad_alloc&) {
            pause(ENOMEM);
        }
        if (retry.armed()) {
            ::listen(fd, 0); // further ones do not get in as long as some wait
            acceptor.wake();
        } else if (!closed) {
            shut();
        }
    }

    void shut() noexcept {
        closed = true;
        io.home.timers().disarm(retry);
        // Which ends the poll.
        if (::shutdown(fd, SHUT_RDWR) != 0 && active) {
            cancel_pending = true;
            io.reader.request(*this, want_cancel);
        }
        acceptor.wake();
    }

    struct retry_timer : timer {
        explicit retry_timer(core& c) noexcept : timer(&fire), self(c) {}
        static void fire(timer& t) noexcept { static_cast<retry_timer&>(t).self.acceptor.wake(); }
        core& self;
    };

    [[nodiscard]] endpoint local() const {
        sockaddr_storage name{};
        socklen_t length = sizeof name;
        if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &length) != 0)
            throw std::system_error(errno, std::system_category(), "getsockname");
        return endpoint::from(reinterpret_cast<sockaddr*>(&name), length);
    }

    worker_io& io;
    accepted_socket socket;
    socket_file file;
    assignment place;                   // keeps the worker
    std::deque<accepted_socket> let_in; // at the close, and not yet taken
    wait_point acceptor{io.home};
    retry_timer retry{*this};
    orphan_node orphaning{*this};
    handle_state handle;  // any thread
    bool closing = false; // no more clients than wait
    bool closed = false;
    bool cancel_pending = false;
    bool orphaned = false;
    unsigned in_a_row = 0; // tries to accept since the last watch()
    int trouble = 0;       // what the last accept failed with, if it may last
};

listener::listener(context& ctx, worker& home, const endpoint& address, listen_options options)
    : core_(new core(context_access::io_of(ctx, home), open_listening(address, options), address,
                     assignment(home))) {}

listener::~listener() { core_->let_go(); }

std::optional<accepted_socket> listener::try_accept() noexcept { return core_->take(); }

task<void> listener::ready(deadline until, std::source_location where) {
    core& c = *core_;
    if (!c.closed && c.let_in.empty()) {
        c.watch();
        auto arrival = c.acceptor.wait("listener::accept", until, where);
        co_await arrival;
    }
    if (c.closed && c.let_in.empty())
        throw std::system_error(ECANCELED, std::system_category(), "accept");
}

task<accepted_socket> listener::accept(deadline until, std::source_location where) {
    std::optional<accepted_socket> next = try_accept();
    while (!next) {
        co_await ready(until, where);
        next = try_accept();
    }
    co_return std::move(*next);
}

void listener::close() noexcept { core_->close(); }

endpoint listener::local() const {
    if (core_->handle.dead())
        throw std::system_error(ECANCELED, std::system_category(), "getsockname");
    return core_->local();
}

connection adopt(context& ctx, accepted_socket socket, assignment place,
                 std::move_only_function<void()> on_gone) {
    worker_io& io = context_access::io_of(ctx, place.get());
    auto* const core =
        connection_core::make(socket.get(), io, std::move(place), std::move(on_gone));
    static_cast<void>(socket.release()); // it is the core's now
    core->open();
    return connection(core);
}

} // namespace rota::io
