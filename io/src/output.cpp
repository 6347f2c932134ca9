#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <rota/check.hpp>
#include <rota/worker.hpp>

#include "read_side.hpp"
#include "reset_socket.hpp"
#include "write_side.hpp"

namespace rota::io {
namespace {

/// The kernel is short of memory: no fault of the connection, and no readiness announces its end.
bool is_shortage(std::int32_t result) noexcept { return result == -ENOBUFS || result == -ENOMEM; }

} // namespace

std::uint64_t untaken_bytes(int fd) noexcept {
    int bytes = 0;
    return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

output::writable_op::writable_op(output& o, worker& owner) noexcept
    : operation(op_kind::poll, owner), out(o) {
    poll_events = POLLOUT;
}

void output::writable_op::complete(std::int32_t result, std::uint32_t flags) noexcept {
    if ((flags & completion_flags::cancel_seen) != 0) {
        out.cancel_pending_ = false;
        out.owner_.output_settled(); // the output may be gone now
        return;
    }
    // Writable, or the socket has failed and the next send will say how.
    if (result >= 0 || result == -ECANCELED)
        out.sender_.enqueue(out, 0);
    else // the wait could not begin, as for want of memory
        out.home().timers().arm(out.retry_, out.home().turn_time() + retry_after);
}

output::output(worker& home, write_side& sender, read_side& poller, output_limits limits,
               owner& listener) noexcept
    : runnable(&nothing), sender_(sender), owner_(listener), limits_(limits), poller_(poller),
      retry_(*this), to_worker_(*this), writable_(*this, home) {}

void output::open(int fd) noexcept {
    fd_ = fd;
    writable_.fd = fd;
}

send_progress output::progress() const noexcept {
    const std::lock_guard guard(lock_);
    const auto in_kernel = std::min<std::uint64_t>(untaken_bytes(fd_), sent_bytes_);
    return {.taken = sent_bytes_ - in_kernel, .left = queued_bytes_ + in_kernel};
}

int output::error() const noexcept {
    const std::lock_guard guard(lock_);
    return error_;
}

void output::cut() noexcept {
    const std::lock_guard guard(lock_);
    if (tail_ == tail::open)
        tail_ = tail::cut;
}

bool output::is_cut() const noexcept {
    const std::lock_guard guard(lock_);
    return tail_ == tail::cut;
}

bool output::is_below_high_water() const noexcept {
    const std::lock_guard guard(lock_);
    return error_ != 0 || queued_bytes_ <= limits_.high_water_bytes;
}

bool output::has_room(std::size_t bytes) const noexcept {
    const std::lock_guard guard(lock_);
    return error_ == 0 && tail_ == tail::open && queued_bytes_ + bytes <= limits_.high_water_bytes;
}

void output::shutdown() noexcept {
    const std::lock_guard guard(lock_);
    if (tail_ == tail::end || error_ != 0)
        return;
    tail_ = tail::end;
    if (!with_writer_)
        ::shutdown(fd_, SHUT_WR);
}

void output::fail(int error) noexcept {
    waiter* below = nullptr;
    waiter* empty = nullptr;
    bool polling = false;
    {
        const std::lock_guard guard(lock_);
        if (error_ == 0)
            error_ = static_cast<std::int16_t>(error);
        pending_.clear();
        if (files_)
            files_->pending.clear();
        polling = with_writer_;
        below = below_waiters_.release();
        empty = empty_waiters_.release();
    }
    // If the write side waits for the socket to become writable, that wait ends, and it lets go.
    if (polling && !cancel_pending_) {
        cancel_pending_ = true;
        poller_.request(writable_, operation::want_cancel);
    }
    wait_list::wake_chain(below);
    wait_list::wake_chain(empty);
}

void output::slim() noexcept {
    const std::lock_guard guard(lock_);
    if (with_writer_)
        return;
    pending_ = std::vector<queued_piece>();
    files_.reset();
    sending_ = std::vector<queued_piece>(); // under the lock too when the write side lets go
}

bool output::waited_in() const noexcept {
    const std::lock_guard guard(lock_);
    return !below_waiters_.empty() || !empty_waiters_.empty();
}

void output::close() noexcept {
    const std::lock_guard guard(lock_);
    ROTA_CHECK(!closed_, "an output is closed once");
    closed_ = true;
    writer_done_ = !with_writer_;
}

void output::to_worker_node::run(runnable& self) noexcept {
    output& out = static_cast<to_worker_node&>(self).out;
    if (std::exchange(out.short_of_memory_, false)) {
        out.home().timers().arm(out.retry_, out.home().turn_time() + retry_after);
        return;
    }
    out.writer_done_ = true;
    out.owner_.output_settled(); // the output may be gone now
}

void output::retry_timer::fire(timer& self) noexcept {
    output& out = static_cast<retry_timer&>(self).out;
    out.sender_.enqueue(out, 0);
}

output::awaiter output::below_high_water(std::source_location where) noexcept {
    return {*this, below_waiters_, limits_.high_water_bytes, "stream::write", where};
}

output::awaiter output::empty(std::source_location where) noexcept {
    return {*this, empty_waiters_, 0, "stream::flush", where};
}

void output::prepare(send_request& request, std::vector<iovec>& vectors) {
    const std::lock_guard guard(lock_);
    ROTA_CHECK(with_writer_, "the write side sends what it was given");
    if (error_ != 0) { // nothing more is to be sent; sent() lets go
        drop_sending_locked();
    } else if (sending_index_ == sending_.size() && files_sent()) {
        take_pending_locked();
    }
    request.fd = fd_;
    asked_ = 0;
    std::size_t last = sending_.size();
    if (files_) [[unlikely]] {
        last = files_->stop(last);
        if (last == sending_index_ && !files_->all_sent()) {
            prepare_file_locked(request);
            return;
        }
        if (last < sending_.size() || !files_->all_sent())
            request.more = MSG_MORE; // one packet, if it goes into one
    }
    const std::size_t first = vectors.size();
    std::size_t offset = sending_offset_;
    last = std::min(last, sending_index_ + vectors_max);
    for (std::size_t i = sending_index_; i < last; ++i) {
        const std::string_view rest = sending_[i].view().substr(offset);
        // The kernel only reads it.
        vectors.push_back({.iov_base = const_cast<char*>(rest.data()), .iov_len = rest.size()});
        asked_ += rest.size();
        offset = 0;
    }
    request.message.msg_iovlen = vectors.size() - first;
}

void output::take_pending_locked() {
    sending_.clear();
    sending_.swap(pending_);
    sending_index_ = 0;
    sending_offset_ = 0;
    if (files_)
        files_->take();
}

void output::drop_sending_locked() noexcept {
    sending_.clear();
    sending_index_ = 0;
    if (files_)
        files_->drop();
}

/// A file that has changed ends the connection: sent() finds the error.
void output::prepare_file_locked(send_request& request) {
    request.file = files_->begin();
    if (request.file != nullptr) {
        asked_ = request.file->bytes;
        return;
    }
    error_ = ESTALE;
    drop_sending_locked();
    reset_socket(fd_);
}

/// What a send of a file comes to. One that fails while the socket does not would leave the client
/// waiting for the rest.
std::int32_t output::advance_file(std::int32_t result) noexcept {
    if (result > 0) {
        files_->advance(static_cast<std::size_t>(result));
        return result;
    }
    if (result == -EAGAIN || result == -EINTR || is_shortage(result))
        return result;
    reset_socket(fd_);
    return result == 0 ? -ESTALE : result; // 0: it has become shorter
}

void output::advance(std::size_t bytes) noexcept {
    ROTA_CHECK(bytes <= asked_, "no more is sent than was asked for");
    while (bytes != 0) {
        const std::size_t rest = sending_[sending_index_].view().size() - sending_offset_;
        if (bytes < rest) {
            sending_offset_ += bytes;
            return;
        }
        bytes -= rest;
        sending_offset_ = 0;
        sending_[sending_index_].let_go();
        ++sending_index_;
    }
}

output::next_step output::sent(std::int32_t result) noexcept {
    // Once it is done with, and the lock is released, the output may be gone: after that only these
    // are touched. With a step still to come it cannot go.
    runnable& to_worker = to_worker_;
    worker& worker_home = home();
    waiter* below = nullptr;
    waiter* empty = nullptr;
    next_step next = next_step::done;
    bool drained = false;
    if (files_ && files_->end()) [[unlikely]]
        result = advance_file(result);
    else if (result > 0)
        advance(static_cast<std::size_t>(result));
    ROTA_CHECK(sending_index_ <= sending_.size(), "what is sent is there");
    const bool all_sent = sending_index_ == sending_.size() && files_sent();
    const bool took_all = result >= 0 && static_cast<std::size_t>(result) == asked_;
    {
        const std::lock_guard guard(lock_);
        if (result > 0) {
            ROTA_CHECK(static_cast<std::size_t>(result) <= queued_bytes_,
                       "no more is sent than is queued");
            queued_bytes_ -= static_cast<std::size_t>(result);
            sent_bytes_ += static_cast<std::uint64_t>(result);
        }
        short_of_memory_ = is_shortage(result) && error_ == 0;
        if (result < 0 && result != -EAGAIN && result != -EINTR && !short_of_memory_ && error_ == 0)
            error_ = static_cast<std::int16_t>(-result);
        if (error_ != 0) {
            pending_.clear();
            if (files_)
                files_->pending.clear();
            drop_sending_locked();
            queued_bytes_ = 0;
        } else if (short_of_memory_) {
            next = next_step::wait_for_memory;
        } else if (!all_sent) {
            next = took_all ? next_step::send_more : next_step::wait_until_writable;
        } else if (!pending_.empty() || (files_ && !files_->pending.empty())) {
            next = next_step::send_more;
        }
        if (waited_) [[unlikely]] {
            if (queued_bytes_ <= limits_.low_water_bytes || error_ != 0)
                below = below_waiters_.release();
            if (queued_bytes_ == 0)
                empty = empty_waiters_.release();
            waited_ = !below_waiters_.empty() || !empty_waiters_.empty();
        }
        if (next == next_step::done) {
            ROTA_CHECK(queued_bytes_ == 0, "nothing is queued once all has been sent");
            if (tail_ == tail::end && error_ == 0)
                ::shutdown(fd_, SHUT_WR);
            with_writer_ = false;
            drained = closed_;
            if (!sending_.empty()) { // their place serves the next bytes
                sending_.clear();
                sending_index_ = 0;
                if (pending_.capacity() == 0)
                    pending_.swap(sending_);
            }
        } else if (next == next_step::wait_until_writable) {
            poll_writable();
        }
    }
    wait_list::wake_chain(below);
    wait_list::wake_chain(empty);
    if (drained || next == next_step::wait_for_memory)
        worker_home.post(to_worker);
    return next;
}

void output::poll_writable() noexcept { poller_.request(writable_, operation::want_arm); }

} // namespace rota::io
