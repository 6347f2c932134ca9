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
#include "string_pool.hpp"
#include "write_side.hpp"

namespace rota::io {
namespace {

constexpr std::size_t append_limit = 16'384; // small writes gather in one string up to this size
constexpr std::size_t spare_limit = 512;     // an idle connection keeps no more than this
constexpr auto retry_after = std::chrono::milliseconds(50);

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

void output::writable_op::complete(std::int32_t, std::uint32_t flags) noexcept {
    if ((flags & completion_flags::cancel_seen) != 0) {
        out.cancel_pending_ = false;
        out.owner_.output_settled(); // the output may be gone now
        return;
    }
    // Writable, or the socket has failed and the next send will say how.
    out.sender_.enqueue(out, 0);
}

output::output(worker& home, write_side& sender, read_side& poller, output_limits limits,
               owner& listener) noexcept
    : home_(home), sender_(sender), poller_(poller), limits_(limits), owner_(listener),
      retry_(*this), to_worker_(*this), node_(*this), writable_(*this, home) {}

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

bool output::hand_to_writer_locked() noexcept {
    if (with_writer_)
        return false;
    with_writer_ = true;
    return true;
}

void output::append_locked(std::string_view bytes) {
    ROTA_CHECK(!closed_, "nothing is queued behind the end");
    if (!pending_.empty() && pending_.back().size() + bytes.size() <= append_limit) {
        pending_.back().append(bytes);
        queued_bytes_ += bytes.size(); // behind what may throw, here and below
        return;
    }
    std::string fresh = std::move(spare_);
    if (bytes.size() > spare_limit && bytes.size() > fresh.capacity())
        fresh = string_pool::take(bytes.size());
    fresh.assign(bytes);
    pending_.push_back(std::move(fresh));
    queued_bytes_ += bytes.size();
}

bool output::queue(std::string_view bytes, bool force) {
    bool hand_over = false;
    {
        const std::lock_guard guard(lock_);
        if (error_ != 0 || tail_ != tail::open)
            return false;
        if (!force && queued_bytes_ + bytes.size() > limits_.high_water_bytes)
            return false;
        if (bytes.empty())
            return true;
        append_locked(bytes);
        hand_over = hand_to_writer_locked();
    }
    if (hand_over)
        sender_.enqueue(*this, bytes.size());
    return true;
}

bool output::queue_owned(std::string&& bytes) {
    bool hand_over = false;
    const std::size_t size = bytes.size();
    {
        const std::lock_guard guard(lock_);
        if (error_ != 0 || tail_ != tail::open)
            return false;
        if (bytes.empty())
            return true;
        if (size < append_limit / 4) {
            append_locked(bytes);
        } else {
            pending_.push_back(std::move(bytes));
            queued_bytes_ += size;
        }
        hand_over = hand_to_writer_locked();
    }
    if (hand_over)
        sender_.enqueue(*this, size);
    return true;
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
            error_ = error;
        pending_.clear();
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
    pending_ = std::vector<std::string>();
    sending_ = std::vector<std::string>(); // under the lock too when the write side lets go
    std::string().swap(spare_);            // an assignment would keep its memory
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
        out.home_.timers().arm(out.retry_, out.home_.turn_time() + retry_after);
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
        sending_.clear();
        sending_index_ = 0;
    } else if (sending_index_ == sending_.size()) {
        if (!sending_.empty() && sending_.back().capacity() <= spare_limit) {
            spare_ = std::move(sending_.back());
        }
        sending_.clear();
        sending_.swap(pending_);
        sending_index_ = 0;
        sending_offset_ = 0;
    }
    const std::size_t first = vectors.size();
    std::size_t offset = sending_offset_;
    asked_ = 0;
    const std::size_t last = std::min(sending_.size(), sending_index_ + vectors_max);
    for (std::size_t i = sending_index_; i < last; ++i) {
        vectors.push_back(
            {.iov_base = sending_[i].data() + offset, .iov_len = sending_[i].size() - offset});
        asked_ += vectors.back().iov_len;
        offset = 0;
    }
    request.fd = fd_;
    request.message = {};
    request.message.msg_iovlen = vectors.size() - first;
    request.result = 0;
}

void output::advance(std::size_t bytes) noexcept {
    ROTA_CHECK(bytes <= asked_, "no more is sent than was asked for");
    while (bytes != 0) {
        const std::size_t rest = sending_[sending_index_].size() - sending_offset_;
        if (bytes < rest) {
            sending_offset_ += bytes;
            return;
        }
        bytes -= rest;
        sending_offset_ = 0;
        // A large piece goes now; the last small one may become the spare.
        if (sending_[sending_index_].capacity() > spare_limit)
            string_pool::keep(sending_[sending_index_]);
        ++sending_index_;
    }
}

output::next_step output::sent(std::int32_t result) noexcept {
    // Once it is done with, and the lock is released, the output may be gone: after that only these
    // are touched. With a step still to come it cannot go.
    runnable& to_worker = to_worker_;
    worker& home = home_;
    waiter* below = nullptr;
    waiter* empty = nullptr;
    next_step next = next_step::done;
    bool drained = false;
    if (result > 0)
        advance(static_cast<std::size_t>(result));
    ROTA_CHECK(sending_index_ <= sending_.size(), "what is sent is there");
    const bool all_sent = sending_index_ == sending_.size();
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
            error_ = -result;
        if (error_ != 0) {
            pending_.clear();
            sending_.clear();
            sending_index_ = 0;
            queued_bytes_ = 0;
        } else if (short_of_memory_) {
            next = next_step::wait_for_memory;
        } else if (!all_sent) {
            next = took_all ? next_step::send_more : next_step::wait_until_writable;
        } else if (!pending_.empty()) {
            next = next_step::send_more;
        }
        if (queued_bytes_ <= limits_.low_water_bytes || error_ != 0)
            below = below_waiters_.release();
        if (queued_bytes_ == 0)
            empty = empty_waiters_.release();
        if (next == next_step::done) {
            ROTA_CHECK(queued_bytes_ == 0, "nothing is queued once all has been sent");
            if (tail_ == tail::end && error_ == 0)
                ::shutdown(fd_, SHUT_WR);
            with_writer_ = false;
            drained = closed_;
            // The last piece's memory serves the next write; keep no more than one small string.
            if (!sending_.empty()) {
                if (sending_.back().capacity() <= spare_limit)
                    spare_ = std::move(sending_.back());
                sending_.clear();
                sending_index_ = 0;
            }
        } else if (next == next_step::wait_until_writable) {
            poll_writable();
        }
    }
    wait_list::wake_chain(below);
    wait_list::wake_chain(empty);
    if (drained || next == next_step::wait_for_memory)
        home.post(to_worker);
    return next;
}

void output::poll_writable() noexcept { poller_.request(writable_, operation::want_arm); }

} // namespace rota::io
