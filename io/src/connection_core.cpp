#include "connection_core.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "string_pool.hpp"

namespace rota::io {
namespace {

/// The peer sees a reset now, or, through a Unix socket, the end of the stream.
void reset_socket(int fd) noexcept {
    // With a linger time of zero, close(2) sends no FIN (man 7 socket).
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    sockaddr nowhere{};
    nowhere.sa_family = AF_UNSPEC; // dissolves the association of a TCP socket (man 2 connect)
    // A bare call: ThreadSanitizer takes connect() for the making of the descriptor, on which
    // another thread may be receiving.
    if (::syscall(SYS_connect, fd, &nowhere, sizeof nowhere) != 0)
        ::shutdown(fd, SHUT_RDWR);
}

} // namespace

const std::size_t connection_core::object_bytes = sizeof(connection_core);

connection_core* connection_core::make(int fd, worker_io& io, assignment place, gone_hook on_gone) {
    void* const memory = io.core_memory.take();
    return ::new (memory) connection_core(fd, io, std::move(place), std::move(on_gone));
}

connection_core::connection_core(int fd, worker_io& io, assignment place, gone_hook on_gone)
    : io_(io), fd_(fd), place_(std::move(place)), on_gone_(std::move(on_gone)),
      receive_(*this, io.home), reader_(io.home),
      output_(io.home, io.writer, io.reader,
              {.high_water_bytes = io.options.high_water_bytes,
               .low_water_bytes = io.options.low_water_bytes},
              *this),
      linger_(*this), rest_over_(*this) {
    receive_.fd = fd;
    receive_.group = &io.buffers;
    output_.open(fd);
}

void connection_core::open() {
    io_.home.add_connection();
    io_.add(*this);
    start_receive();
}

void connection_core::start_receive() noexcept {
    if (receive_.active || starved_ || paused_ || peer_closed() || life_ == life::ending)
        return;
    receive_.active = true;
    io_.reader.request(receive_, operation::want_arm);
}

void connection_core::cancel_receive() noexcept {
    if (!receive_.active || cancel_pending_)
        return;
    cancel_pending_ = true;
    io_.reader.request(receive_, operation::want_cancel);
}

void connection_core::retry_receive() noexcept {
    starved_ = false;
    start_receive();
}

void connection_core::received(std::int32_t result, std::uint32_t flags) noexcept {
    if ((flags & completion_flags::cancel_seen) != 0) {
        cancel_pending_ = false;
        if (life_ == life::ending) {
            advance_closing();
        } else {
            start_receive(); // it may have been consumed, and unpaused, meanwhile
        }
        return;
    }
    if ((flags & completion_flags::buffer) != 0) {
        const auto buffer = static_cast<std::uint16_t>(flags >> completion_flags::buffer_shift);
        was_starved_ = false;
        if (result > 0 && life_ == life::open) {
            store({io_.buffers.data(buffer), static_cast<std::size_t>(result)});
        }
        io_.buffers.give_back(buffer);
    }
    if ((flags & completion_flags::more) == 0)
        receive_ended(result);
    if (life_ == life::ending) {
        advance_closing(); // this may be gone now
        return;
    }
    if (!buffered().empty() || !later_.empty() || peer_closed())
        wake_reader();
}

void connection_core::wake_reader() noexcept {
    reader_.wake();
    end_rest();
}

void connection_core::store(std::string_view bytes) {
    // Somebody may hold a view of what is there already: it stays where it is.
    std::string& target = unread_.empty() ? unread_ : later_;
    if (target.capacity() < bytes.size()) {
        std::string fresh =
            string_pool::take(std::max(bytes.size(), io_.options.receive_buffer_bytes));
        fresh.append(target);
        target = std::move(fresh);
    }
    target.append(bytes);
    if (unread_bytes() > io_.options.max_unread_bytes && !paused_ && !growing_) {
        paused_ = true;
        cancel_receive();
    }
}

void connection_core::receive_ended(std::int32_t result) noexcept {
    receive_.active = false;
    if (result == 0) {
        end_of_stream_ = true;
    } else if (result == -ENOBUFS || result == -ENOMEM) {
        starved_ = true;
        io_.add_starved(*this, std::exchange(was_starved_, true));
    } else if (result < 0 && result != -ECANCELED && result != -EINTR) {
        receive_error_ = -result;
    }
    start_receive(); // if it ended for any other reason, such as a full completion queue
}

void connection_core::consume(std::size_t bytes) noexcept {
    consumed_ += bytes;
    if (consumed_ == unread_.size()) {
        unread_.clear();
        consumed_ = 0;
        unread_.swap(later_);
        if (later_.capacity() != 0)
            string_pool::keep(later_);
        if (unread_.empty() && unread_.capacity() > 32) {
            string_pool::keep(unread_);
        }
    }
    if (paused_ && unread_bytes() <= io_.options.max_unread_bytes / 2) {
        paused_ = false;
        if (!cancel_pending_)
            start_receive();
    }
}

task<bool> connection_core::fill(deadline until, std::source_location where) {
    while (buffered().empty()) {
        if (receive_error_ != 0) {
            throw std::system_error(receive_error_, std::system_category(), "receive");
        }
        if (end_of_stream_)
            co_return false;
        start_receive();
        auto arrival = reader_.wait("stream::fill", until, where);
        co_await arrival;
    }
    co_return true;
}

task<bool> connection_core::fill_more(deadline until, std::source_location where) {
    if (buffered().empty()) {
        const bool any = co_await fill(until, where);
        co_return any;
    }
    while (later_.empty()) {
        if (receive_error_ != 0) {
            throw std::system_error(receive_error_, std::system_category(), "receive");
        }
        if (end_of_stream_)
            co_return false;
        growing_ = true;
        paused_ = false;
        if (!cancel_pending_)
            start_receive();
        try {
            auto arrival = reader_.wait("stream::fill", until, where);
            co_await arrival;
        } catch (...) {
            growing_ = false;
            throw;
        }
        growing_ = false;
    }
    unread_.erase(0, consumed_);
    consumed_ = 0;
    unread_.append(later_);
    string_pool::keep(later_);
    co_return true;
}

// --- Resting ---

void connection_core::rest(rest_keeper& keeper, std::chrono::steady_clock::time_point until,
                           rest_memo memo) noexcept {
    keeper_ = &keeper;
    memo_ = memo;
    if (unread_.empty()) {
        std::string().swap(unread_); // an assignment would keep its memory
        std::string().swap(later_);
    }
    output_.slim();
    start_receive();
    io_.home.timers().arm(linger_, until);
    io_.count_rest();
    if (!buffered().empty() || peer_closed())
        end_rest();
}

void connection_core::end_rest() noexcept {
    if (keeper_ == nullptr || std::exchange(rest_ending_, true))
        return;
    io_.home.timers().disarm(linger_);
    io_.home.post(rest_over_);
}

void connection_core::end_rest_by(std::chrono::steady_clock::time_point until) noexcept {
    if (keeper_ == nullptr || rest_ending_)
        return;
    io_.home.timers().disarm(linger_);
    io_.home.timers().arm(linger_, until);
}

void connection_core::rest_node::run(runnable& r) noexcept {
    connection_core& core = static_cast<rest_node&>(r).core;
    rest_keeper& keeper = *std::exchange(core.keeper_, nullptr);
    core.rest_ending_ = false;
    keeper.rest_over(core); // the core may be gone now
}

// --- Ending ---

void connection_core::close() noexcept {
    life_ = life::closing;
    output_.close();
    io_.home.timers().arm(linger_, deadline_after(io_.home.turn_time(), io_.options.linger));
    advance_closing();
}

void connection_core::abort() noexcept {
    if (life_ == life::ending) {
        cancel_receive(); // should the shutdown not have ended it
        return;
    }
    reset_socket(fd_);
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
        if (receive_.active && ::shutdown(fd_, how) != 0)
            cancel_receive();
    }
    if (receive_.active || cancel_pending_)
        return;
    if (starved_)
        io_.remove_starved(*this);
    io_.remove(*this);
    // Where a ring still refers to the socket close(2) says nothing. (An abort waits for that
    // ring.)
    if (io_.reader.is_left() && receive_error_ != ECONNABORTED)
        ::shutdown(fd_, SHUT_RDWR);
    ::close(fd_);
    io_.home.remove_connection();
    slab& memory = io_.core_memory;
    const assignment place = std::move(place_); // keeps the worker until all is over
    gone_hook on_gone = std::move(on_gone_);
    this->~connection_core();
    memory.give_back(this);
    if (on_gone)
        on_gone();
}

} // namespace rota::io
