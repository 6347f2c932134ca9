// The only file that enters an io_uring (man 7 io_uring, man 2 io_uring_enter).

#include "backend.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <liburing.h>
#include <poll.h>
#include <rota/check.hpp>
#include <rota/io/log.hpp>
#include <sys/syscall.h>
#include <unistd.h>

#include "buffer_group.hpp"
#include "operation.hpp"
#include "uring_refusal.hpp"
#include "uring_setup.hpp"

namespace rota::io {
namespace {

// user_data of what is not an operation; an operation's is its address.
constexpr std::uint64_t ignored = 0;
constexpr std::uint64_t woken = 1;
constexpr std::uint64_t tried = 2;

/// A filter, say, may forbid to enter a ring that was set up before (man 2 seccomp). That is said
/// once, and what tries again does so now and then.
class enter_watch {
public:
    explicit enter_watch(const char* outcome) : outcome_(outcome) {}

    /// Told what each io_uring_enter gives. True once it has failed for so long that it will go on.
    bool fails(int result) noexcept {
        if (result >= 0 || result == -EINTR || result == -ETIME || result == -EBUSY) {
            failures_ = 0;
            return false;
        }
        std::this_thread::sleep_for(pause);
        if (failures_ < failures_max && ++failures_ == failures_max)
            tell(result);
        return failures_ == failures_max;
    }

private:
    static constexpr auto pause = std::chrono::milliseconds(5);
    static constexpr int failures_max = 100; // half a second: no shortage that passes

    void tell(int result) const noexcept {
        std::string why;
        try {
            why = explain_failure(uring_failure(result, "io_uring_enter"));
        } catch (const std::bad_alloc&) { // for the words
        }
        log::error("{}: {}", outcome_, why);
    }

    const char* const outcome_;
    int failures_ = 0;
};

class uring_read_backend final : public read_backend {
public:
    uring_read_backend(unsigned entries, bool allow_limited) : allow_limited_(allow_limited) {
        // DEFER_TASKRUN and COOP_TASKRUN: completions are worked off when the thread asks for them,
        // not by interrupting it (without: 1.48 times the CPU). R_DISABLED: the thread that enables
        // the ring is its single issuer.
        set_up_ring(ring_, entries,
                    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_R_DISABLED,
                    "io_uring_setup (read side)");
    }

    ~uring_read_backend() override {
        if (!left_)
            tear_down_ring(ring_);
    }

    void enter_thread() override {
        thread_ = ::gettid();
        // By the bare call: liburing 2.3 declares io_uring_enable_rings() but does not export it.
        if (::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr,
                      0) < 0) {
            throw std::system_error(errno, std::system_category(), "io_uring_register (enable)");
        }
        if (allow_limited_)
            limited_receives_ = knows_limited_receives();
        listen_for_wake();
    }

    /// Throws unless the operations are there and a no-op goes through the ring: a filter may let
    /// a ring be set up and nobody enter it. For a ring that nothing else was armed on.
    void try_out() {
        require_operations(ring_);
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_nop(sqe);
        sqe->user_data = tried;
        io_uring_cqe* cqe = nullptr;
        __kernel_timespec limit{.tv_sec = 1, .tv_nsec = 0};
        const int result = ::io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &limit, nullptr);
        if (result < 0)
            throw uring_failure(result, "io_uring_enter");
        if (cqe == nullptr || cqe->user_data != tried || cqe->res != 0)
            throw uring_failure(-EOPNOTSUPP, "a no-op through io_uring");
        ::io_uring_cqe_seen(&ring_, cqe);
    }

    void arm(operation& op) override {
        check_thread();
        if (op.carried_over && op.kind == op_kind::connect) {
            // A ring would begin it anew, and fail because it has begun.
            if (const int error = go_on_connecting(op); error != 0 && error != EINPROGRESS)
                throw uring_failure(-error, "connect");
        }
        io_uring_sqe* const sqe = next_sqe();
        switch (op.kind) {
        case op_kind::receive:
            prepare_receive(*sqe, op);
            break;
        case op_kind::poll:
            ::io_uring_prep_poll_add(sqe, op.fd, op.poll_events);
            break;
        case op_kind::connect:
            if (op.carried_over) {
                ::io_uring_prep_poll_add(sqe, op.fd, POLLOUT);
            } else {
                ::io_uring_prep_connect(sqe, op.fd, op.address, op.address_length);
            }
            break;
        }
        sqe->user_data = reinterpret_cast<std::uintptr_t>(&op);
    }

    void cancel(operation& op) override {
        check_thread();
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_cancel64(sqe, reinterpret_cast<std::uintptr_t>(&op), 0);
        sqe->user_data = ignored;
    }

    std::size_t wait(std::span<op_completion> out, time_point until) override {
        check_thread();
        for (buffer_group* const group : carried_)
            group->refill();
        if (::io_uring_cq_ready(&ring_) == 0)
            enter(until);
        std::size_t count = 0;
        unsigned seen = 0;
        unsigned head = 0;
        io_uring_cqe* cqe = nullptr;
        io_uring_for_each_cqe(&ring_, head, cqe) {
            if (count == out.size())
                break;
            ++seen;
            if (cqe->user_data == ignored || cqe->user_data == tried)
                continue;
            if (cqe->user_data == woken) {
                wake_armed_ = false;
                continue;
            }
            out[count++] = translate(*cqe);
        }
        ::io_uring_cq_advance(&ring_, seen);
        if (!wake_armed_)
            listen_for_wake();
        return count;
    }

    void wake() noexcept override { wake_.notify(); }

    void attach(buffer_group& group) override {
        carried_.reserve(carried_.size() + 1);
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(group.ring_for_kernel());
        registration.ring_entries = group.count();
        registration.bgid = group.id();
        if (const int result = ::io_uring_register_buf_ring(&ring_, &registration, 0); result < 0) {
            throw uring_failure(result, "io_uring_register_buf_ring");
        }
        if (group.is_carried())
            carried_.push_back(&group);
    }

    // SINGLE_ISSUER. Completions come only when the thread asks for them, because of DEFER_TASKRUN:
    // while it is stuck elsewhere nothing is received.
    bool any_thread() const noexcept override { return false; }

    bool holds_completions() const noexcept override {
        const auto read = [](unsigned* word) { return std::atomic_ref(*word).load(); };
        return read(ring_.cq.khead) != read(ring_.cq.ktail) ||
               (read(ring_.sq.kflags) & IORING_SQ_CQ_OVERFLOW) != 0;
    }

    void leave() noexcept override {
        check_thread();
        // What was not handed over goes. A submit alone does not ask for completions, so everything
        // has been marked as cancelled before any of the deferred work runs, which then only ends.
        ring_.sq.sqe_tail = ring_.sq.sqe_head;
        if (io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_)) {
            ::io_uring_prep_cancel64(sqe, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
            sqe->user_data = ignored;
            ::io_uring_submit(&ring_);
        }
        tear_down_ring(ring_);
        left_ = true;
    }

private:
    void check_thread() const noexcept {
        ROTA_CHECK(thread_ == ::gettid(), "a ring is entered by the thread that it belongs to");
    }

    io_uring_sqe* next_sqe() {
        for (;;) {
            if (io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_))
                return sqe;
            // The submission queue is full: hand over what it holds. EBUSY means that completions
            // overflowed and have to be fetched first, which io_uring_get_events does; they stay in
            // the ring for the next wait().
            const int result = ::io_uring_submit(&ring_);
            watch_.fails(result);
            if (result == -EBUSY || result == -EAGAIN)
                ::io_uring_get_events(&ring_);
        }
    }

    /// A receive that goes on by itself takes whole buffers until it has its limit: that leaves
    /// room for the last one. With less room, or where the kernel knows no limit, one buffer is
    /// received, and then the operation ends.
    void prepare_receive(io_uring_sqe& sqe, const operation& op) const noexcept {
        const std::size_t buffer = op.group->bytes_each();
        if (limited_receives_ && op.room > buffer) {
            ::io_uring_prep_recv_multishot(&sqe, op.fd, nullptr, 0, 0);
            sqe.file_index = op.room - static_cast<std::uint32_t>(buffer) + 1; // later: optlen
        } else {
            ::io_uring_prep_recv(&sqe, op.fd, nullptr, std::min<std::size_t>(op.room, buffer), 0);
        }
        sqe.flags |= IOSQE_BUFFER_SELECT;
        sqe.buf_group = op.group->id();
    }

    /// Whether a receive that goes on by itself can be limited (Linux 6.17). Older kernels refuse
    /// it for what it says, others for its descriptor.
    bool knows_limited_receives() {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_recv_multishot(sqe, -1, nullptr, 0, 0);
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->file_index = 1;
        sqe->user_data = tried;
        io_uring_cqe* cqe = nullptr;
        __kernel_timespec limit{.tv_sec = 1, .tv_nsec = 0};
        ::io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &limit, nullptr);
        if (cqe == nullptr || cqe->user_data != tried)
            return false; // wait() passes over it, should it come later
        const bool known = cqe->res == -EBADF;
        ::io_uring_cqe_seen(&ring_, cqe);
        return known;
    }

    void enter(time_point until) {
        io_uring_cqe* first = nullptr;
        const auto now = std::chrono::steady_clock::now();
        if (until <= now) {
            watch_.fails(::io_uring_submit_and_get_events(&ring_));
            return;
        }
        if (until == time_point::max()) {
            watch_.fails(::io_uring_submit_and_wait(&ring_, 1));
            return;
        }
        const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(until - now).count();
        __kernel_timespec limit{.tv_sec = rest / 1'000'000'000, .tv_nsec = rest % 1'000'000'000};
        watch_.fails(::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr));
        // EINTR, ETIME and EBUSY alike: look at what is there, and come back.
    }

    void listen_for_wake() {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_read(sqe, wake_.fd(), &wake_count_, sizeof wake_count_, 0);
        sqe->user_data = woken;
        wake_armed_ = true;
    }

    static op_completion translate(const io_uring_cqe& cqe) noexcept {
        auto* const op = static_cast<operation*>(::io_uring_cqe_get_data(&cqe));
        if (op->carried_over && op->kind == op_kind::connect && cqe.res >= 0)
            return {.op = op, .result = end_connect(op->fd), .flags = 0};
        std::uint32_t flags = 0;
        if ((cqe.flags & IORING_CQE_F_MORE) != 0)
            flags |= completion_flags::more;
        if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
            flags |= completion_flags::buffer;
            flags |= (cqe.flags >> IORING_CQE_BUFFER_SHIFT) << completion_flags::buffer_shift;
            op->group->taken_by_kernel();
            op->room -= std::min(op->room, static_cast<std::uint32_t>(std::max(0, cqe.res)));
        }
        return {.op = op, .result = cqe.res, .flags = flags};
    }

    const wake_event wake_;
    const bool allow_limited_;
    bool limited_receives_ = false;
    enter_watch watch_{"a thread can receive nothing any more, the program has to be ended"};
    io_uring ring_{};
    std::vector<buffer_group*> carried_; // those with a ring for this kernel alone
    std::uint64_t wake_count_ = 0;
    int thread_ = 0;
    bool wake_armed_ = false;
    bool left_ = false;
};

class uring_write_backend final : public write_backend {
public:
    explicit uring_write_backend(unsigned entries) : batch_max_(entries) {
        set_up_ring(ring_, entries, IORING_SETUP_COOP_TASKRUN, "io_uring_setup (write side)");
        batch_max_ = std::min(batch_max_, *ring_.sq.kring_entries);
    }
    ~uring_write_backend() override { tear_down_ring(ring_); }

    void send(std::span<send_request> batch) override {
        while (!batch.empty() && !broken_) {
            const std::size_t count = std::min<std::size_t>(batch.size(), batch_max_);
            send_some(batch.first(count));
            batch = batch.subspan(count);
        }
        if (!batch.empty())
            without_ring_->send(batch);
    }

private:
    // MSG_DONTWAIT makes each send complete within the submitting call, by EAGAIN if need be:
    // nothing of this ring is ever left in flight, so no buffer outlives the call and there is
    // nothing to cancel.
    void send_some(std::span<send_request> batch) {
        std::size_t left = 0;
        for (send_request& r : batch) {
            // A splice of the ring's would go to a thread of the kernel's, and block there.
            if (r.file != nullptr) {
                r.result = send_from_file(r.fd, *r.file);
                continue;
            }
            ++left;
            const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | r.more;
            r.result = -EAGAIN;
            io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_);
            // A plain send is cheaper than a message of one piece.
            if (r.message.msg_iovlen == 1) {
                const iovec& only = *r.message.msg_iov;
                ::io_uring_prep_send(sqe, r.fd, only.iov_base, only.iov_len, flags);
            } else {
                ::io_uring_prep_sendmsg(sqe, r.fd, &r.message, flags);
            }
            sqe->user_data = reinterpret_cast<std::uintptr_t>(&r);
        }
        while (left != 0) {
            const int result = ::io_uring_submit_and_wait(&ring_, static_cast<unsigned>(left));
            broken_ = watch_.fails(result);
            unsigned head = 0;
            unsigned seen = 0;
            io_uring_cqe* cqe = nullptr;
            io_uring_for_each_cqe(&ring_, head, cqe) {
                static_cast<send_request*>(::io_uring_cqe_get_data(cqe))->result = cqe->res;
                ++seen;
            }
            ::io_uring_cq_advance(&ring_, seen);
            left -= seen;
            if (broken_) // what it has not taken it never will, and is sent later
                return;
        }
    }

    enter_watch watch_{"sending goes on without a ring"};
    const std::unique_ptr<write_backend> without_ring_ = make_syscall_write_backend();
    bool broken_ = false; // the ring: it is never entered again
    io_uring ring_{};
    unsigned batch_max_;
};

} // namespace

std::unique_ptr<read_backend> make_uring_read_backend(unsigned entries, bool limited_receives) {
    return std::make_unique<uring_read_backend>(entries, limited_receives);
}

std::unique_ptr<write_backend> make_uring_write_backend(unsigned entries) {
    return std::make_unique<uring_write_backend>(entries);
}

std::string why_no_uring() {
    try {
        uring_read_backend reading(ring_entries_min, true);
        const uring_write_backend writing(ring_entries_min);
        reading.enter_thread();
        reading.try_out();
        buffer_group group(0, 2, 64);
        reading.attach(group);
        return {};
    } catch (const std::system_error& e) {
        return explain_failure(e);
    }
}

} // namespace rota::io
