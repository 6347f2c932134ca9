// The only file that enters an io_uring (man 7 io_uring, man 2 io_uring_enter).

#include "backend.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buffer_group.hpp"
#include "operation.hpp"

namespace rota::io {
namespace {

// user_data of what is not an operation; an operation's is its address.
constexpr std::uint64_t ignored = 0;
constexpr std::uint64_t woken = 1;

std::system_error failure(int negative_errno, const char* what) {
    return {-negative_errno, std::system_category(), what};
}

/// Rings are mapped and unmapped by bare system calls, which ThreadSanitizer does not see: it would
/// take a ring for another one that had been at its address. Each end of a ring releases to, and
/// each start acquires from here.
std::atomic<unsigned> rings{0};

/// Sets a ring up, with half the entries as long as the kernel has no memory for more.
void set_up(io_uring& ring, unsigned entries, unsigned flags, const char* what) {
    for (;;) {
        io_uring_params params{};
        params.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
        params.cq_entries = entries * 4;
        const int result = ::io_uring_queue_init_params(entries, &ring, &params);
        if (result == 0) {
            rings.fetch_add(1, std::memory_order_acq_rel);
            return;
        }
        if (result != -ENOMEM || entries <= 16)
            throw failure(result, what);
        entries /= 2;
    }
}

void tear_down(io_uring& ring) noexcept {
    rings.fetch_sub(1, std::memory_order_acq_rel);
    ::io_uring_queue_exit(&ring);
}

class uring_read_backend final : public read_backend {
public:
    explicit uring_read_backend(unsigned entries) {
        // DEFER_TASKRUN and COOP_TASKRUN: completions are worked off when the thread asks for them,
        // not by interrupting it (without: 1.48 times the CPU). R_DISABLED: the thread that enables
        // the ring is its single issuer.
        set_up(ring_, entries,
               IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN |
                   IORING_SETUP_R_DISABLED,
               "io_uring_setup (read side)");
        wake_fd_ = ::eventfd(0, EFD_CLOEXEC);
        if (wake_fd_ < 0) {
            tear_down(ring_);
            throw std::system_error(errno, std::system_category(), "eventfd");
        }
    }

    ~uring_read_backend() override {
        tear_down(ring_);
        ::close(wake_fd_);
    }

    void enter_thread() override {
        // By the bare call: liburing 2.3 declares io_uring_enable_rings() but does not export it.
        if (::syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr,
                      0) < 0) {
            throw std::system_error(errno, std::system_category(), "io_uring_register (enable)");
        }
        listen_for_wake();
    }

    void arm(operation& op) override {
        io_uring_sqe* const sqe = next_sqe();
        switch (op.kind) {
        case op_kind::accept:
            ::io_uring_prep_multishot_accept(sqe, op.fd, nullptr, nullptr, SOCK_CLOEXEC);
            break;
        case op_kind::receive:
            ::io_uring_prep_recv_multishot(sqe, op.fd, nullptr, 0, 0);
            sqe->flags |= IOSQE_BUFFER_SELECT;
            sqe->buf_group = op.group->id();
            break;
        case op_kind::poll:
            ::io_uring_prep_poll_add(sqe, op.fd, op.poll_events);
            break;
        case op_kind::connect:
            ::io_uring_prep_connect(sqe, op.fd, op.address, op.address_length);
            break;
        }
        sqe->user_data = reinterpret_cast<std::uintptr_t>(&op);
    }

    void cancel(operation& op) override {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_cancel64(sqe, reinterpret_cast<std::uintptr_t>(&op), 0);
        sqe->user_data = ignored;
    }

    std::size_t wait(std::span<op_completion> out, time_point until) override {
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
            if (cqe->user_data == ignored)
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

    void wake() noexcept override {
        const std::uint64_t one = 1;
        // Fails only with a full counter, and then the wake-up is already there.
        [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
    }

    void attach(buffer_group& group) override {
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(group.ring());
        registration.ring_entries = group.count();
        registration.bgid = group.id();
        if (const int result = ::io_uring_register_buf_ring(&ring_, &registration, 0); result < 0) {
            throw failure(result, "io_uring_register_buf_ring");
        }
    }

    // A listener that blocks: with O_NONBLOCK, io_uring would answer EAGAIN instead of waiting.
    void prepare_listener(int) override {}

private:
    io_uring_sqe* next_sqe() {
        for (;;) {
            if (io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_))
                return sqe;
            // The submission queue is full: hand over what it holds. EBUSY means that completions
            // overflowed and have to be fetched first, which io_uring_get_events does; they stay in
            // the ring for the next wait().
            const int result = ::io_uring_submit(&ring_);
            if (result == -EBUSY || result == -EAGAIN)
                ::io_uring_get_events(&ring_);
        }
    }

    void enter(time_point until) {
        io_uring_cqe* first = nullptr;
        const auto now = std::chrono::steady_clock::now();
        if (until <= now) {
            ::io_uring_submit_and_get_events(&ring_);
            return;
        }
        if (until == time_point::max()) {
            ::io_uring_submit_and_wait(&ring_, 1);
            return;
        }
        const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(until - now).count();
        __kernel_timespec limit{.tv_sec = rest / 1'000'000'000, .tv_nsec = rest % 1'000'000'000};
        ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
        // EINTR, ETIME and EBUSY alike: look at what is there, and come back.
    }

    void listen_for_wake() {
        io_uring_sqe* const sqe = next_sqe();
        ::io_uring_prep_read(sqe, wake_fd_, &wake_count_, sizeof wake_count_, 0);
        sqe->user_data = woken;
        wake_armed_ = true;
    }

    static op_completion translate(const io_uring_cqe& cqe) noexcept {
        std::uint32_t flags = 0;
        if ((cqe.flags & IORING_CQE_F_MORE) != 0)
            flags |= completion_flags::more;
        if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
            flags |= completion_flags::buffer;
            flags |= (cqe.flags >> IORING_CQE_BUFFER_SHIFT) << completion_flags::buffer_shift;
        }
        return {
            .op = reinterpret_cast<operation*>(cqe.user_data), .result = cqe.res, .flags = flags};
    }

    io_uring ring_{};
    int wake_fd_ = -1;
    std::uint64_t wake_count_ = 0;
    bool wake_armed_ = false;
};

class uring_write_backend final : public write_backend {
public:
    explicit uring_write_backend(unsigned entries) : batch_max_(entries) {
        set_up(ring_, entries, IORING_SETUP_COOP_TASKRUN, "io_uring_setup (write side)");
        batch_max_ = std::min(batch_max_, *ring_.sq.kring_entries);
    }
    ~uring_write_backend() override { tear_down(ring_); }

    void send(std::span<send_request> batch) override {
        while (!batch.empty()) {
            const std::size_t count = std::min<std::size_t>(batch.size(), batch_max_);
            send_some(batch.first(count));
            batch = batch.subspan(count);
        }
    }

private:
    // MSG_DONTWAIT makes each send complete within the submitting call, by EAGAIN if need be:
    // nothing of this ring is ever left in flight, so no buffer outlives the call and there is
    // nothing to cancel.
    void send_some(std::span<send_request> batch) {
        constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
        for (send_request& r : batch) {
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
        std::size_t left = batch.size();
        while (left != 0) {
            ::io_uring_submit_and_wait(&ring_, static_cast<unsigned>(left));
            unsigned head = 0;
            unsigned seen = 0;
            io_uring_cqe* cqe = nullptr;
            io_uring_for_each_cqe(&ring_, head, cqe) {
                reinterpret_cast<send_request*>(cqe->user_data)->result = cqe->res;
                ++seen;
            }
            ::io_uring_cq_advance(&ring_, seen);
            left -= seen;
        }
    }

    io_uring ring_{};
    unsigned batch_max_;
};

} // namespace

std::unique_ptr<read_backend> make_uring_read_backend(unsigned entries) {
    return std::make_unique<uring_read_backend>(entries);
}

std::unique_ptr<write_backend> make_uring_write_backend(unsigned entries) {
    return std::make_unique<uring_write_backend>(entries);
}

std::string why_no_uring(unsigned entries) {
    try {
        uring_read_backend reading(entries);
        uring_write_backend writing(std::min(entries, 256U));
        reading.enter_thread();
        buffer_group group(0, 2, 64);
        reading.attach(group);
        reading.wake();
        std::array<op_completion, 4> out{};
        reading.wait(out, std::chrono::steady_clock::now() + std::chrono::milliseconds(100));
        return {};
    } catch (const std::system_error& e) {
        const int code = e.code().value();
        const char* hint = "";
        if (code == ENOSYS)
            hint = "; the kernel has none";
        if (code == EPERM || code == EACCES)
            hint = "; forbidden by seccomp or kernel.io_uring_disabled";
        if (code == EINVAL)
            hint = "; the kernel is older than 6.1";
        if (code == ENOMEM)
            hint = "; no memory, or the limit on locked memory is too low";
        return fmt::format("{}{}", e.what(), hint);
    }
}

} // namespace rota::io
