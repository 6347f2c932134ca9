#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rota/check.hpp>

#include "connection_core.hpp"
#include "reset_socket.hpp"

// How a connection ends: see the life of one in connection_core.hpp.
namespace rota::io {
void connection_core::let_go() noexcept {
    // Only its address: the worker may be gone. While the handle is held it is there.
    const bool at_home = worker::current() == &(operation::home);
    if (at_home && handle_.held()) {
        close();
    } else if (handle_.let_go_elsewhere()) {
        io_.home.post(at_home_);
    } else if (!handle_.let_go_stray()) {
        this->~connection_core();
        slab::give_back_late(this);
    }
}

std::string connection_core::describe() const {
    sockaddr_storage name{};
    socklen_t length = sizeof name;
    auto* const at = reinterpret_cast<sockaddr*>(&name);
    if (::getpeername(operation::fd, at, &length) != 0)
        throw std::system_error(errno, std::system_category(), "getpeername");
    const bool unnamed = name.ss_family == AF_UNIX && length <= sizeof name.ss_family;
    if (unnamed && ::getsockname(operation::fd, at, &(length = sizeof name)) != 0)
        throw std::system_error(errno, std::system_category(), "getsockname");
    return (unnamed ? "a client of " : "with ") + endpoint::from(at, length).to_string();
}

bool connection_core::stop() noexcept {
    const bool stray = life_ == life::open && keeper_ == nullptr && handle_.make_stray();
    abort(); // which may be its end, unless it was open
    if (stray)
        close();
    return stray;
}

void connection_core::check_not_waited_in() noexcept {
    ROTA_CHECK_ALWAYS(!reader_.waiting_on() && !output_.waited_in(),
                      "a connection outlives what waits in it, and stays where it is meanwhile");
}

void connection_core::check_move() noexcept {
    if (worker::current() == &(operation::home)) // as above
        check_not_waited_in();
}

void connection_core::close() noexcept {
    ROTA_CHECK(may_be_used(), "a connection is closed by its worker");
    check_not_waited_in();
    life_ = life::closing;
    io_.home.timers().disarm(linger_); // of rests
    output_.close();
    const auto now = io_.home.turn_time();
    if (!output_.settled()) {
        patience_ = send_patience(io_.options.linger, now, output_.progress().taken);
        io_.home.timers().arm(linger_, deadline_after(now, io_.options.linger));
    }
    advance_closing();
}

void connection_core::linger_on() noexcept {
    const auto now = io_.home.turn_time();
    const auto left = patience_.look(io_.options.linger, io_.options.linger_rate_min_bytes_per_s,
                                     now, output_.progress().taken);
    if (left <= send_patience::duration::zero()) {
        abort();
    } else if (life_ == life::closing) {
        io_.home.timers().arm(linger_, deadline_after(now, left));
    } else if (must_drain()) {
        look_after_ms_ = static_cast<std::uint16_t>(std::min(2 * look_after_ms_, 1000));
        const auto next = std::chrono::milliseconds(look_after_ms_);
        io_.home.timers().arm(linger_, now + std::min<send_patience::duration>(left, next));
    } else {
        end();
    }
}

/// Whether the kernel has bytes that the peer has not taken. They would be outside all bounds
/// after close(2). Those of a Unix socket are the peer's already.
bool connection_core::must_drain() const noexcept {
    if (receive_error_ != 0 || output_.error() != 0)
        return false;
    if (untaken_bytes(operation::fd) <=
        1) // the end of the stream, which counts for one, needs no memory
        return false;
    tcp_info now{};
    socklen_t size = sizeof now;
    return ::getsockopt(operation::fd, IPPROTO_TCP, TCP_INFO, &now, &size) == 0 &&
           now.tcpi_state != TCP_CLOSE; // else the peer has reset it
}

void connection_core::abort() noexcept {
    ROTA_CHECK(may_be_used(), "a connection is aborted by its worker");
    if (life_ == life::over)
        return;
    if (life_ == life::ending) {
        cancel_receive(); // should the shutdown not have ended it
        return;
    }
    if (life_ == life::draining) {
        reset_socket(operation::fd);
        end();
        return;
    }
    reset_socket(operation::fd);
    receive_error_ = ECONNABORTED;
    const bool handle_gone = life_ == life::closing;
    output_.fail(ECONNABORTED);
    cancel_receive();
    wake_reader();
    if (handle_gone)
        advance_closing();
}

void connection_core::output_settled() noexcept {
    if (life_ != life::open)
        advance_closing();
}

void connection_core::advance_closing() noexcept {
    if (!output_.settled())
        return;
    if (life_ == life::closing) {
        life_ = life::ending;
        io_.home.timers().disarm(linger_);
        // A receive under way ends by the shutdown; without one close(2) says all there is to say.
        const int how = receive_error_ == ECONNABORTED ? SHUT_RD : SHUT_RDWR;
        if (active && ::shutdown(operation::fd, how) != 0)
            cancel_receive();
    }
    if (life_ == life::draining || active || cancel_pending_)
        return;
    if (starved_) {
        io_.remove_starved(*this);
        starved_ = false;
    }
    if (!must_drain()) {
        end();
        return;
    }
    life_ = life::draining;
    ::shutdown(operation::fd, SHUT_RDWR); // the peer sees the end behind it
    const auto now = io_.home.turn_time();
    constexpr std::uint16_t first_look_ms = 10;
    look_after_ms_ = first_look_ms;
    patience_ = send_patience(io_.options.linger, now, output_.progress().taken);
    io_.home.timers().arm(linger_, now + std::chrono::milliseconds(first_look_ms));
}

void connection_core::end() noexcept {
    ROTA_CHECK(!active && !cancel_pending_ && output_.settled(),
               "the descriptor is closed behind the last completion");
    io_.home.timers().disarm(linger_);
    io_.remove(*this);
    if (const std::size_t unread = unread_bytes(); unread != 0)
        io_.count_dropped(unread);
    // Where a ring still refers to the socket close(2) says nothing. (An abort waits for that
    // ring.)
    if (io_.reader.is_left() && receive_error_ != ECONNABORTED)
        ::shutdown(operation::fd, SHUT_RDWR);
    ::close(std::exchange(operation::fd, -1));
    io_.home.remove_connection();
    slab& memory = io_.core_memory;
    const assignment place = std::move(place_); // keeps the worker until all is over
    gone_hook on_gone = std::move(on_gone_);
    life_ = life::over;
    reader_.end();
    output_.open(-1);
    if (!handle_.outlived()) {
        this->~connection_core();
        memory.give_back(this);
    }
    if (on_gone)
        on_gone();
}

} // namespace rota::io
